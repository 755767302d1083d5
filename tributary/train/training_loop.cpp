#include "tributary/train/training_loop.h"

#include <algorithm>

#include "tributary/base/error.h"
#include "tributary/checkpoint/state_checks.h"

namespace tributary {

TrainingLoop::TrainingLoop(TrainingTask& task, const DeviceImages& images, LoopOptions options)
    : task_(task),
      images_(images),
      options_(std::move(options)),
      captured_(images.device(), options_.cuda_graph,
                [this](const StepPlan& plan, std::vector<DropoutStream>& dropout_stream) {
                  return step(plan, dropout_stream);
                }) {}

void TrainingLoop::start(int64_t steps) {
  plans_.reset();
  steps_ = steps;
  done_ = drawn_ = 0;
  captured_.forget_rare_shapes();
  begin_round(0);
}

void TrainingLoop::begin_round(int64_t round) {
  round_ = round;
  losses_.clear();
  waited_before_round_ = plans_ ? plans_->waited() : 0;
}

void TrainingLoop::run(int64_t until, Checkpointer& checkpointer, const Checkpointer::Take& take,
                       const OnStep& on_step) {
  const OwnStream stream(images_.device());
  if (!plans_)
    plans_.emplace(steps_ - done_, /*ahead=*/!images_.resident(), [this] { return plan(task_.draw(++drawn_)); });
  while (done_ < until) {
    checkpointer.save_if_due(take);
    task_.before_step(done_ + 1);
    const StepPlan next = plans_->next();
    losses_.push_back(run_step(next));
    ++done_;
    if (on_step) on_step(batch_sizes(next));
  }
}

StepPlan TrainingLoop::plan(const StepDraws& draws) const {
  TRIBUTARY_CHECK(draws.indices.size() == options_.indices, "{} indices instead of {}", draws.indices.size(),
                  options_.indices);
  std::vector<Tensor> parts = draws.indices;
  for (const StepDraws::Batch& batch : draws.batches) {
    const int64_t rows = batch.rows.size(0);
    AugmentationDraws drawn =
        images_.draw(options_.one_draw_per_batch ? 1 : rows, options_.augmentation, batch.augmentation);
    if (options_.one_draw_per_batch) drawn = drawn.repeated(rows);
    parts.push_back(batch.rows);
    parts.push_back(drawn.crops);
    if (drawn.maps.defined()) parts.push_back(drawn.maps);
    if (drawn.colours.defined()) parts.push_back(drawn.colours);
  }
  StepPlan plan(parts, draws.reals, draws.dropout);
  if (!images_.resident()) plan.carry(fetch(draws.batches));
  return plan;
}

Tensor TrainingLoop::fetch(const std::vector<StepDraws::Batch>& batches) const {
  std::vector<Tensor> rows, needed;
  int64_t begin = 0;
  for (const StepDraws::Batch& batch : batches) {
    rows.push_back(batch.rows);
    if (batch.needed.defined()) needed.push_back(batch.needed + begin);
    begin += batch.rows.size(0);
  }
  return images_.fetch(at::cat(rows), needed.size() == batches.size() ? at::cat(needed) : Tensor());
}

std::vector<int64_t> TrainingLoop::batch_sizes(const StepPlan& plan) const {
  std::vector<int64_t> sizes;
  for (size_t part = options_.indices; part < plan.parts(); part += parts_per_batch())
    sizes.push_back(plan.shapes()[part].front());
  return sizes;
}

Tensor TrainingLoop::run_step(const StepPlan& plan) {
  const std::vector<int64_t> sizes = batch_sizes(plan);
  const bool full = std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size == options_.batch; });
  return captured_.run(plan, /*usual=*/full);
}

Tensor TrainingLoop::step(const StepPlan& plan, std::vector<DropoutStream>& dropout_stream) {
  StepInputs inputs{{}, plan, dropout_stream};
  int64_t begin = 0;
  for (size_t part = options_.indices; part < plan.parts(); part += parts_per_batch()) {
    const Tensor rows = plan.part(part);
    size_t next = part + 1;
    AugmentationDraws draws{plan.part(next++), {}, {}};
    if (options_.augmentation.moves()) draws.maps = plan.part(next++);
    if (options_.augmentation.recolours()) draws.colours = plan.part(next);
    const Tensor pixels =
        plan.pictures().defined()
            ? images_.augmented_from(plan.pictures().narrow(0, begin, rows.size(0)), draws, options_.augmentation)
            : images_.augmented(rows, draws, options_.augmentation);
    inputs.batches.push_back({rows, pixels});
    begin += rows.size(0);
  }
  return task_.step(inputs);
}

Tensor TrainingLoop::history() const {
  return at::stack(losses_).to(torch::kCPU, torch::kFloat64);
}

void TrainingLoop::require_finite() const {
  if (losses_.empty()) return;
  const Tensor bad = history().isfinite().logical_not().nonzero();
  if (bad.size(0) == 0) return;
  const int64_t step = bad[0][0].item<int64_t>() + 1;
  const std::string term = task_.loss_terms()[static_cast<size_t>(bad[0][1].item<int64_t>())];
  const std::string place = round_ > 0 ? fmt::format("round {}, step {}", round_, step)
                                       : fmt::format("step {}", done_ - static_cast<int64_t>(losses_.size()) + step);
  work_error("{}: non-finite {}; {}", place, term, options_.advice);
}

std::vector<double> TrainingLoop::mean_losses() const {
  if (losses_.empty()) return std::vector<double>(task_.loss_terms().size(), 0);
  require_finite();
  const Tensor mean = history().mean(0).contiguous();
  return {mean.data_ptr<double>(), mean.data_ptr<double>() + mean.numel()};
}

std::vector<double> TrainingLoop::last_losses() const {
  if (losses_.empty()) return {};
  const Tensor last = losses_.back().to(torch::kCPU, torch::kFloat64).contiguous();
  return {last.data_ptr<double>(), last.data_ptr<double>() + last.numel()};
}

double TrainingLoop::waited() const {
  return plans_ && !images_.resident() ? plans_->waited() - waited_before_round_ : 0;
}

void TrainingLoop::save(Checkpoint& checkpoint, const std::string& prefix) const {
  require_finite();
  checkpoint.tensors.push_back({prefix + "steps_done", torch::tensor({done_}, torch::kInt64)});
  if (!losses_.empty()) checkpoint.tensors.push_back({prefix + "losses_of_the_round", at::stack(losses_)});
}

void TrainingLoop::restore(const Checkpoint& checkpoint, const std::string& prefix) {
  TRIBUTARY_CHECK(done_ == 0 && !plans_, "restore a loop before its first step");
  const Tensor& steps = checkpoint.at(prefix + "steps_done");
  require_integers(steps, {1}, 0, steps_ + 1, fmt::format("steps done, of {}", steps_));
  const auto done = steps.item<int64_t>();
  while (drawn_ < done) task_.draw(++drawn_);
  done_ = done;
  losses_.clear();
  const Tensor* const losses = checkpoint.find(prefix + "losses_of_the_round");
  if (losses) require_numbers(*losses, {-1, static_cast<int64_t>(task_.loss_terms().size())}, "losses of the round");
  if (losses)
    losses_ = losses->to(images_.device()).unbind();
}

}  // namespace tributary

#include "tributary/methods/selective/selective_task.h"

#include <algorithm>

#include "tributary/model/backbone.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

enum Real : size_t { kMixingRatio, kRateFactor };
enum Index : size_t { kPermutation };
enum Batch : size_t { kConfident, kUnconfident };  // the second may be missing

}  // namespace

SelectiveTask::SelectiveTask(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options,
                             bool weights_samples)
    : ensemble_(ensemble),
      options_(options),
      step_(ensemble, options),
      label_(torch::zeros({images.size()}, at::device(images.device()).dtype(torch::kInt64))) {
  if (options.cross_labels) source_label_ = torch::zeros({ensemble.size(), images.size()}, label_.options());
  if (weights_samples)
    sample_weight_ = torch::ones({images.size()}, at::device(images.device()).dtype(torch::kFloat32));
}

LoopOptions SelectiveTask::loop_options() const {
  LoopOptions loop;
  loop.batch = options_.batch;
  loop.augmentation = resolve_defaults(augmentation_of(options_), ensemble_.sources.front().info(), /*adapting=*/true);
  loop.cuda_graph = options_.cuda_graph && std::all_of(ensemble_.sources.begin(), ensemble_.sources.end(),
                                                       [](const SourceModel& source) { return source.capturable(); });
  loop.indices = 1;
  loop.advice = "try smaller learning rates (--rate-backbone, --rate-bottleneck)";
  return loop;
}

void SelectiveTask::begin_round(const Selection& selection, const Tensor& sample_weight, const Tensor& prior,
                                int64_t round) {
  label_.copy_(selection.label);
  if (source_label_.defined())
    source_label_.copy_(selection.source_label.defined() ? selection.source_label : selection.label.unsqueeze(0));
  if (sample_weight_.defined() && sample_weight.defined()) sample_weight_.copy_(sample_weight);
  if (prior.defined()) step_.set_prior(prior);
  round_ = round;
  batches_.emplace(selection, options_, round);
}

std::vector<std::string> SelectiveTask::loss_terms() const {
  std::vector<std::string> terms;
  for (const char* name : {"cross-entropy", "information loss"})
    for (int64_t j = 0; j < ensemble_.size(); ++j) terms.push_back(fmt::format("{} of source {}", name, j));
  terms.push_back("adversarial loss");
  terms.push_back("discriminator loss");
  return terms;
}

StepDraws SelectiveTask::draw(int64_t step) {
  const auto seed = static_cast<uint64_t>(options_.seed);
  const auto r = static_cast<uint64_t>(round_), i = static_cast<uint64_t>(step);
  const double factor = options_.schedule == RateSchedule::kDecay ? decay_factor(step, batches_->steps()) : 1;
  return draw(batches_->next(),
              {Random(seed, Purpose::kAugment, {r, i, 0}), Random(seed, Purpose::kAugment, {r, i, 1}),
               Random(seed, Purpose::kMixup, {r, i}), Random(seed, Purpose::kDropout, {r, i})},
              factor);
}

StepDraws SelectiveTask::draw(const StepRows& rows, const StepRandom& random, double rate_factor) const {
  const auto& [confident, unconfident] = rows;
  Random mixing = random.mixing;
  const auto ratio = static_cast<float>(mixing.uniform());
  const Tensor permutation = torch::tensor(mixing.permutation(confident.size(0)), torch::kInt64);
  const auto needed = [&](int64_t count, const Tensor& mixed_with) {
    return needed_rows(ensemble_.sources, count, mixed_with);
  };
  StepDraws draws;
  draws.batches.push_back(
      {confident, random.confident_augmentation, needed(confident.size(0), options_.mixup ? permutation : Tensor())});
  if (unconfident.defined())
    draws.batches.push_back({unconfident, random.unconfident_augmentation, needed(unconfident.size(0), {})});
  draws.indices = {permutation};
  draws.reals = {ratio, static_cast<float>(rate_factor)};
  for (int64_t j = 0; j < ensemble_.size(); ++j)
    for (const StepPass pass : kStepPasses) draws.dropout.push_back(pass_stream(random.dropout, j, pass));
  return draws;
}

Tensor SelectiveTask::step(const StepInputs& inputs) {
  StepBatch batch;
  const auto& [rows, pixels] = inputs.batches[kConfident];
  batch.confident = views(pixels, ensemble_.sources);
  batch.label = label_.index_select(0, rows);
  if (source_label_.defined()) batch.source_label = source_label_.index_select(1, rows);
  if (sample_weight_.defined()) batch.weight = sample_weight_.index_select(0, rows);
  if (inputs.batches.size() > kUnconfident)
    batch.unconfident = views(inputs.batches[kUnconfident].pixels, ensemble_.sources);
  batch.mixing = {inputs.real(kMixingRatio), inputs.index(kPermutation)};
  const StepLosses losses = step_.accumulate(batch, inputs.dropout_stream);
  step_.update(inputs.real(kRateFactor));
  return losses;
}

int64_t SelectiveTask::pictures(std::span<const int64_t> batch_sizes) const {
  return batch_sizes[kConfident] * (options_.mixup ? 2 : 1) +
         (batch_sizes.size() > kUnconfident ? batch_sizes[kUnconfident] : 0);
}

}  // namespace tributary

#include "tributary/methods/selective/step_runner.h"

#include <algorithm>

#include "tributary/model/backbone.h"
#include "tributary/train/batches.h"

namespace tributary {
namespace {

// The parts of a plan and its real numbers. The unconfident ones may be missing.
enum Part : size_t { kConfident, kConfidentCut, kPermutation, kUnconfident, kUnconfidentCut };
enum Real : size_t { kRatio, kRateFactor };

bool capturable(const Ensemble& ensemble) {
  return std::all_of(ensemble.sources.begin(), ensemble.sources.end(),
                     [](const SourceModel& source) { return source.capturable(); });
}

bool aligns(const StepPlan& plan) {
  return plan.parts() > kUnconfident;
}

}  // namespace

StepRunner::StepRunner(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options)
    : ensemble_(ensemble),
      images_(images),
      options_(options),
      augmentation_(resolve_defaults(options.augmentation, architecture(ensemble.sources.front().info().architecture),
                                     /*adapting=*/true)),
      step_(ensemble, options),
      steps_(images.device(),
             options.cuda_graph && capturable(ensemble) && augmentation_.shift == 0 && augmentation_.rotation == 0,
             [this](const StepPlan& plan, StepNoise& dropout_stream) { return step(plan, dropout_stream); }) {
  const auto rows = [&] { return torch::zeros({images.size()}, at::device(images.device()).dtype(torch::kInt64)); };
  confident_ = rows();
  unconfident_ = rows();
  label_ = rows();
}

void StepRunner::begin_round(const Selection& selection) {
  const auto fill = [](const Tensor& to, const Tensor& from) { to.narrow(0, 0, from.size(0)).copy_(from); };
  fill(confident_, selection.confident);
  fill(unconfident_, selection.unconfident);
  fill(label_, selection.label);
  if (!images_.resident()) {
    confident_rows_ = selection.confident.cpu();
    unconfident_rows_ = selection.unconfident.cpu();
  }
  steps_.forget_rare_shapes();
}

StepLosses StepRunner::run(const StepPlan& plan) {
  const auto full = [&](Part part) { return plan.parts() <= part || plan.part(part).size(0) == options_.batch; };
  return steps_.run(plan, /*usual=*/full(kConfident) && full(kUnconfident));
}

StepPlan StepRunner::plan(const StepPositions& positions, const StepRandom& random, double rate_factor) const {
  const auto& [confident, unconfident] = positions;
  Random mixing = random.mixing;
  const auto ratio = static_cast<float>(mixing.uniform());
  std::vector<Tensor> parts = {confident, images_.draw_crops(confident.size(0), augmentation_, random.confident_cut),
                               torch::tensor(mixing.permutation(confident.size(0)), torch::kInt64)};
  if (unconfident.defined()) {
    parts.push_back(unconfident);
    parts.push_back(images_.draw_crops(unconfident.size(0), augmentation_, random.unconfident_cut));
  }
  std::vector<Random> dropout_streams;
  for (int64_t j = 0; j < ensemble_.size(); ++j)
    for (const StepPass pass : kStepPasses) dropout_streams.push_back(pass_stream(random.dropout, j, pass));
  StepPlan plan(parts, {ratio, static_cast<float>(rate_factor)}, dropout_streams);
  if (!images_.resident()) {
    plan.carry(fetch(positions, parts[kPermutation]));
  }
  return plan;
}

Tensor StepRunner::fetch(const StepPositions& positions, const Tensor& permutation) const {
  const auto& [confident, unconfident] = positions;
  const auto needed = [&](int64_t rows, const Tensor& mixed_with) {
    return needed_rows(ensemble_.sources, rows, mixed_with);
  };
  const int64_t count = confident.size(0);
  const Tensor rows = confident_rows_.index_select(0, confident);
  const Tensor places = needed(count, options_.mixup ? permutation : Tensor());
  if (!unconfident.defined()) return images_.fetch(rows, places);
  const Tensor all = at::cat({rows, unconfident_rows_.index_select(0, unconfident)});
  if (!places.defined()) return images_.fetch(all);
  return images_.fetch(all, at::cat({places, needed(unconfident.size(0), {}) + count}));
}

int64_t StepRunner::pictures(const StepPlan& plan) const {
  const int64_t confident = plan.part(kConfident).size(0);
  return confident * (options_.mixup ? 2 : 1) + (aligns(plan) ? plan.part(kUnconfident).size(0) : 0);
}

StepLosses StepRunner::step(const StepPlan& plan, StepNoise& dropout_stream) {
  // The pictures in `rows` of the set, or those from `first` on that were brought along.
  const auto seen = [&](const Tensor& rows, int64_t first, const CropParameters& crops) {
    const Tensor pixels =
        plan.pictures().defined()
            ? images_.apply_crops_to(plan.pictures().narrow(0, first, rows.size(0)), crops, augmentation_)
            : images_.apply_crops(rows, crops, augmentation_);
    return views(pixels.contiguous(at::MemoryFormat::ChannelsLast), ensemble_.sources);
  };
  StepBatch batch;
  const Tensor confident = confident_.index_select(0, plan.part(kConfident));
  batch.confident = seen(confident, 0, plan.part(kConfidentCut));
  batch.label = label_.index_select(0, confident);
  if (aligns(plan))
    batch.unconfident =
        seen(unconfident_.index_select(0, plan.part(kUnconfident)), confident.size(0), plan.part(kUnconfidentCut));
  batch.mixing = {plan.real(kRatio), plan.part(kPermutation)};
  StepLosses losses = step_.accumulate(batch, dropout_stream);
  step_.update(plan.real(kRateFactor));
  return losses;
}

}  // namespace tributary

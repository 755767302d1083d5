#include "tributary/methods/step_runner.h"

#include <algorithm>

#include "tributary/model/backbone.h"
#include "tributary/model/device.h"

namespace tributary {
namespace {

bool all_layered(const Ensemble& ensemble) {
  return std::all_of(ensemble.sources.begin(), ensemble.sources.end(),
                     [](const SourceModel& source) { return source.layered() != nullptr; });
}

// Masks drawn where the plan lies.
StepNoise device_noise(const StepPlan& plan) {
  return [&plan](int64_t source, StepPass pass) { return Noise(plan.noise_key(source, pass)); };
}

// The same masks drawn on the host, where `plan` lies, which is faster for a CPU and what TorchScript sources need.
StepNoise host_noise(const StepPlan& plan, torch::Device device) {
  return [&plan, device](int64_t source, StepPass pass) {
    return Noise(Random(static_cast<uint64_t>(plan.noise_key(source, pass).item<int64_t>())), device);
  };
}

}  // namespace

StepRunner::StepRunner(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options)
    : ensemble_(ensemble),
      images_(images),
      options_(options),
      augmentation_(settled(options.augmentation, architecture(ensemble.sources.front().info().architecture),
                            /*adapting=*/true)),
      step_(ensemble, options),
      recordable_(options.record && RecordedWork::possible(images.device()) && all_layered(ensemble) &&
                  augmentation_.shift == 0 && augmentation_.rotation == 0) {
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
}

StepLosses StepRunner::step(const StepPlan& plan, const StepNoise& noise) {
  const auto seen = [&](const Tensor& rows, const Cut& cut) {
    return views(images_.apply_cut(rows, cut, augmentation_).contiguous(at::MemoryFormat::ChannelsLast),
                 ensemble_.sources);
  };
  StepBatch batch;
  const Tensor confident = confident_.index_select(0, plan.confident());
  batch.confident = seen(confident, plan.confident_cut());
  batch.label = label_.index_select(0, confident);
  if (plan.shape().unconfident > 0)
    batch.unconfident = seen(unconfident_.index_select(0, plan.unconfident()), plan.unconfident_cut());
  batch.mixing = {plan.ratio(), plan.permutation()};
  StepLosses losses = step_.accumulate(batch, noise);
  step_.update(plan.rate_factor());
  return losses;
}

StepLosses StepRunner::run(const StepPlan& plan) {
  constexpr int kEagerFirst = 3;  // libraries choose their algorithms and take their memory
  const torch::Device device = images_.device();
  const bool usual = plan.shape().confident == options_.batch &&
                     (plan.shape().unconfident == options_.batch || plan.shape().unconfident == 0);
  if (!recordable_ || !usual) {
    const StepPlan moved = plan.on(device);
    return step(moved, recordable_ ? device_noise(moved) : host_noise(plan, device));
  }
  Recorded& recorded = recorded_[plan.shape()];
  if (recorded.eager < kEagerFirst) {
    ++recorded.eager;
    const StepPlan moved = plan.on(device);
    return step(moved, device_noise(moved));
  }
  if (!recorded.work.recorded()) {
    recorded.plan = plan.on(device);
    recorded.work.record([&] { recorded.losses = step(*recorded.plan, device_noise(*recorded.plan)); });
  }
  recorded.plan->assign(plan);
  recorded.work.repeat();
  return recorded.losses.clone();
}

}  // namespace tributary

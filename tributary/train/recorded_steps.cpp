#include "tributary/train/recorded_steps.h"

namespace tributary {
namespace {

// Masks drawn where the plan lies.
std::vector<Noise> device_noise(const StepPlan& plan) {
  std::vector<Noise> noise;
  const Tensor keys = plan.noise_keys();
  for (int64_t i = 0; i < keys.size(0); ++i) noise.emplace_back(keys[i]);
  return noise;
}

// The same masks drawn on the host, where `plan` lies, which is faster for a CPU and what TorchScript sources need.
std::vector<Noise> host_noise(const StepPlan& plan, torch::Device device) {
  std::vector<Noise> noise;
  const Tensor keys = plan.noise_keys();
  for (int64_t i = 0; i < keys.size(0); ++i)
    noise.emplace_back(Random(static_cast<uint64_t>(keys[i].item<int64_t>())), device);
  return noise;
}

}  // namespace

RecordedSteps::RecordedSteps(torch::Device device, bool record, Step step)
    : device_(device), record_(record && RecordedWork::possible(device)), step_(std::move(step)) {}

void RecordedSteps::forget_unusual() {
  std::erase_if(recorded_, [](const auto& entry) { return !entry.second.usual; });
}

Tensor RecordedSteps::run(const StepPlan& plan, bool usual) {
  constexpr int kEagerFirst = 2;  // libraries choose their algorithms and take their memory
  if (!record_) {
    std::vector<Noise> noise = host_noise(plan, device_);
    return step_(plan.on(device_), noise);
  }
  const NoAlgorithmSearch quick(!usual);
  Recorded& recorded = recorded_[plan.shapes()];
  recorded.usual = usual;
  if (recorded.eager < kEagerFirst) {
    ++recorded.eager;
    const StepPlan moved = plan.on(device_);
    std::vector<Noise> noise = device_noise(moved);
    const Tensor result = step_(moved, noise);
    if (!recorded.masks) recorded.masks.emplace(noise);
    return result;
  }
  if (!recorded.work.recorded()) {
    recorded.plan = plan.on(device_);
    recorded.work.record([&] {
      std::vector<Noise> noise = recorded.masks->draw(recorded.plan->noise_keys());
      recorded.result = step_(*recorded.plan, noise);
    });
  }
  recorded.plan->assign(plan);
  recorded.work.repeat();
  return recorded.result.clone();
}

}  // namespace tributary

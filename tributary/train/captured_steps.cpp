#include "tributary/train/captured_steps.h"

#include <algorithm>

#include "tributary/device/device.h"

namespace tributary {
namespace {

// Draws masks on the device, where the plan is.
std::vector<DropoutStream> device_noise(const StepPlan& plan) {
  std::vector<DropoutStream> dropout_stream;
  const Tensor keys = plan.dropout_keys();
  for (int64_t i = 0; i < keys.size(0); ++i) dropout_stream.emplace_back(keys[i]);
  return dropout_stream;
}

// Draws the same masks on the host, where `plan` is: faster on a CPU, and the only way for TorchScript sources.
std::vector<DropoutStream> host_noise(const StepPlan& plan, torch::Device device) {
  std::vector<DropoutStream> dropout_stream;
  const Tensor keys = plan.dropout_keys();
  for (int64_t i = 0; i < keys.size(0); ++i)
    dropout_stream.emplace_back(Random(static_cast<uint64_t>(keys[i].item<int64_t>())), device);
  return dropout_stream;
}

}  // namespace

CapturedSteps::CapturedSteps(torch::Device device, bool cuda_graph, Step step)
    : device_(device), cuda_graph_(cuda_graph && CudaGraph::possible(device)), step_(std::move(step)) {}

void CapturedSteps::forget_rare_shapes() {
  std::erase_if(captured_, [](const auto& entry) { return !entry.second.usual; });
}

void CapturedSteps::make_room() {
  const bool graphs =
      std::any_of(captured_.begin(), captured_.end(), [](const auto& entry) { return entry.second.work.captured(); });
  if (!graphs || free_memory(device_) >= eager_bytes_) return;
  for (auto& [shapes, captured] : captured_) {
    captured.result = Tensor();
    captured.work = CudaGraph();
  }
  release_cached_memory(device_);
}

Tensor CapturedSteps::run_eagerly(const StepPlan& plan, Captured& captured) {
  make_room();
  const MemoryMeter meter = gpu_meter(device_);
  const int64_t before = meter.held();
  meter.restart_peak();
  const StepPlan moved = plan.on(device_);
  std::vector<DropoutStream> dropout_stream = device_noise(moved);
  const Tensor result = step_(moved, dropout_stream);
  if (!captured.masks) captured.masks.emplace(dropout_stream);
  eager_bytes_ = std::max(eager_bytes_, meter.peak() - before);
  return result;
}

Tensor CapturedSteps::run(const StepPlan& plan, bool usual) {
  constexpr int kEagerFirst = 2;  // libraries choose algorithms and allocate memory in the first steps
  if (!cuda_graph_) {
    std::vector<DropoutStream> dropout_stream = host_noise(plan, device_);
    return step_(plan.on(device_), dropout_stream);
  }
  const NoAlgorithmSearch quick(!usual);
  Captured& captured = captured_[plan.shapes()];
  captured.usual = usual;
  if (captured.eager < kEagerFirst) {
    ++captured.eager;
    return run_eagerly(plan, captured);
  }
  if (!captured.work.captured()) {
    captured.plan = plan.on(device_);
    release_cached_memory(device_);  // a graph has memory of its own
    captured.work.capture([&] {
      std::vector<DropoutStream> dropout_stream = captured.masks->draw(captured.plan->dropout_keys());
      captured.result = step_(*captured.plan, dropout_stream);
    });
  }
  captured.plan->assign(plan);
  captured.work.replay();
  return captured.result.clone();
}

}  // namespace tributary

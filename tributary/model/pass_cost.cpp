#include "tributary/model/pass_cost.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "tributary/device/accelerator.h"
#include "tributary/model/layered_source.h"

namespace tributary {
namespace {

// Bytes of one pass over several pictures.
struct PassTrial {
  int64_t held = 0, working = 0;
};

void drop_gradients(const SourceModel& source) {
  for (NamedTensor& parameter : source.backbone_parameters()) parameter.value.mutable_grad() = Tensor();
}

PassTrial trial(SourceModel& source, int64_t pictures, bool mixed_precision, const MemoryMeter& meter) {
  const int64_t size = source.info().preprocessing.size;
  const torch::Device device = source.device();
  PassTrial found;
  const int64_t before = meter.held();
  meter.restart_peak();
  Tensor y;
  {
    const MixedPrecision precision(mixed_precision, device);
    y = source.layered()->trial_features(
        torch::randn({pictures, 3, size, size}, at::device(device).dtype(torch::kFloat32)));
  }
  found.held = meter.held() - before;
  if (y.requires_grad()) torch::autograd::backward({y}, {torch::ones_like(y)});
  found.working = meter.peak() - before - found.held;
  drop_gradients(source);
  return found;
}

PassBytes bytes_per_picture(SourceModel& source, bool mixed_precision, const MemoryMeter& meter) {
  constexpr int64_t kFew = 4, kMore = 8;
  const PassTrial few = trial(source, kFew, mixed_precision, meter);
  const PassTrial more = trial(source, kMore, mixed_precision, meter);
  const auto slope = [](int64_t at_few, int64_t at_more) {
    return std::max(0.0, static_cast<double>(at_more - at_few) / (kMore - kFew));
  };
  return {slope(few.held, more.held), slope(few.working, more.working)};
}

// Of one source: what its waiting passes hold together, and at most while one of its passes runs.
struct SourceBytes {
  double held = 0, peak = 0;
};

SourceBytes bytes_of(const PassCost& cost, const HeldPasses& passes, int64_t batch, const PassMemory& memory) {
  const auto pictures = static_cast<double>(batch);
  const size_t all = cost.recomputed.size();
  const size_t segments = memory.segments > 0 ? std::min(all, static_cast<size_t>(memory.segments)) : all;
  const PassBytes& recomputed = cost.recomputed.at(segments - 1);
  const PassBytes& waiting = memory.recompute == Recompute::kNone ? cost.stored : recomputed;
  const PassBytes& prompt = memory.recompute == Recompute::kAll ? recomputed : cost.stored;
  SourceBytes bytes;
  bytes.held = static_cast<double>(passes.waiting) * pictures * waiting.held;
  if (memory.micro_batch > 0) {  // recomputed as a whole
    bytes.peak = bytes.held + static_cast<double>(memory.micro_batch) * (cost.stored.held + cost.stored.working);
    return bytes;
  }
  bytes.peak = bytes.held + pictures * waiting.working;
  if (passes.prompt) bytes.peak = std::max(bytes.peak, pictures * (prompt.held + prompt.working));
  return bytes;
}

}  // namespace

PassCost measure_pass(SourceModel& source, bool mixed_precision, const MemoryMeter& meter) {
  const PassMemory before = source.layered()->memory();
  const NoAlgorithmSearch quick(true);  // its workspaces would count
  PassCost cost;
  source.layered()->set_memory({Recompute::kNone});
  trial(source, 2, mixed_precision, meter);  // libraries allocate workspaces in the first pass
  cost.stored = bytes_per_picture(source, mixed_precision, meter);
  for (int64_t segments = 1; segments <= source.layered()->segments(); ++segments) {
    source.layered()->set_memory({Recompute::kAll, 0, segments});
    cost.recomputed.push_back(bytes_per_picture(source, mixed_precision, meter));
  }
  source.layered()->set_memory(before);
  const double per_parameter = mixed_precision ? 10 : 8;  // gradient and momentum, and a copy in bfloat16
  for (const NamedTensor& parameter : source.backbone_parameters())
    cost.fixed += per_parameter * static_cast<double>(parameter.value.numel());
  return cost;
}

double step_bytes(const std::vector<PassCost>& costs, const HeldPasses& passes, int64_t batch,
                  const PassMemory& memory) {
  // Memory that one branch frees cannot serve another.
  const bool side_by_side = passes.of_all_sources && memory.recompute != Recompute::kAll;
  double fixed = 0, held = 0, most = 0, sum = 0;
  for (const PassCost& cost : costs) {
    const SourceBytes bytes = bytes_of(cost, passes, batch, memory);
    fixed = passes.of_all_sources ? fixed + cost.fixed : std::max(fixed, cost.fixed);
    held += bytes.held;
    most = std::max(most, passes.of_all_sources ? bytes.peak - bytes.held : bytes.peak);
    sum += bytes.peak;
  }
  if (side_by_side) return fixed + sum;
  return fixed + most + (passes.of_all_sources ? held : 0);
}

}  // namespace tributary

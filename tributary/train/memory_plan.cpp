#include "tributary/train/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "tributary/base/memory.h"
#include "tributary/device/device.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

// Workspaces of cuDNN, the batch itself, heads, and memory that the allocator cannot use because it is in pieces.
constexpr double kSlack = 1.15;
constexpr double kWorkspaces = 0.375 * kGibibyte;

// From the fastest to the one that takes the least memory.
std::vector<PassMemory> choices(const std::vector<PassCost>& costs, int64_t batch, const PassMemory& least) {
  size_t segments = 0;
  for (const PassCost& cost : costs) segments = std::max(segments, cost.recomputed.size());
  std::vector<PassMemory> all;
  for (std::optional<PassMemory> memory = least; memory; memory = with_less_memory(*memory, batch)) {
    if (memory->recompute == Recompute::kWaiting && least.recompute == Recompute::kNone)
      for (size_t some = 1; some < segments; ++some)
        all.push_back({Recompute::kWaiting, 0, static_cast<int64_t>(some)});
    all.push_back(*memory);
  }
  return all;
}

}  // namespace

std::string description(const MemoryPlan& plan) {
  return fmt::format("GPU memory: {}; a step of {} pictures takes {:.1f} of {:.1f} GiB", description(plan.memory),
                     plan.batch, plan.step / kGibibyte, plan.available / kGibibyte);
}

MemoryPlan memory_plan(const std::vector<PassCost>& costs, const HeldPasses& passes, int64_t batch,
                       const PassMemory& least, double available) {
  MemoryPlan plan{least, batch, 0, available};
  for (const PassMemory& memory : choices(costs, batch, least)) {
    plan.memory = memory;
    plan.step = kSlack * step_bytes(costs, passes, batch, memory) + kWorkspaces;
    if (plan.step <= available) break;
  }
  return plan;
}

std::optional<MemoryPlan> memory_plan(std::span<SourceModel> sources, const HeldPasses& passes, int64_t batch,
                                      const PassMemory& least, bool mixed_precision) {
  const bool known = std::all_of(sources.begin(), sources.end(), [](SourceModel& source) {
    return source.layered() != nullptr && source.device().is_cuda();
  });
  if (sources.empty() || !known) return std::nullopt;
  const torch::Device device = sources.front().device();
  std::vector<PassCost> costs;
  try {
    for (SourceModel& source : sources) costs.push_back(measure_pass(source, mixed_precision, gpu_meter(device)));
  } catch (const std::exception& error) {
    if (!is_out_of_gpu_memory(error)) throw;
    release_cached_memory(device);
    return std::nullopt;
  }
  release_cached_memory(device);
  return memory_plan(costs, passes, batch, least, static_cast<double>(free_memory(device)));
}

}  // namespace tributary

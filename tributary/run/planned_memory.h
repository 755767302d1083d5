// The memory plan of a run's training, told to its listener.
#pragma once

#include <span>

#include "tributary/run/run_listener.h"

namespace tributary {

// How the passes of sources fit into the memory of their device, at least as economical as `least`: itself if nothing
// is known (train/memory_plan.h).
inline PassMemory planned_memory(std::span<SourceModel> sources, const HeldPasses& passes, int64_t batch,
                                 const PassMemory& least, bool mixed_precision, RunListener& listener) {
  const std::optional<MemoryPlan> plan = memory_plan(sources, passes, batch, least, mixed_precision);
  if (!plan) return least;
  listener.on_memory_plan(*plan);
  return plan->memory;
}

}  // namespace tributary

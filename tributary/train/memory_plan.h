// Chooses how much memory training passes take (model/pass_memory.h) by what is free before the first step.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tributary/model/pass_cost.h"

namespace tributary {

struct MemoryPlan {
  PassMemory memory;
  int64_t batch = 0;
  double step = 0;       // bytes that a step takes
  double available = 0;  // bytes for a step
};

// As in "GPU memory: recomputed activations; a step of 32 pictures takes 3.1 of 6.4 GiB".
std::string description(const MemoryPlan& plan);

// The fastest from `least` on whose step fits into `available` bytes: all activations stored; those of ever more
// segments recomputed; those of all; micro-batches. The last if none fits.
MemoryPlan memory_plan(const std::vector<PassCost>& costs, const HeldPasses& passes, int64_t batch,
                       const PassMemory& least, double available);

// The plan for sources on a GPU, from passes over a few pictures and the free memory. Nothing on a CPU, if a source is
// a TorchScript module, or if there is no memory even for these.
std::optional<MemoryPlan> memory_plan(std::span<SourceModel> sources, const HeldPasses& passes, int64_t batch,
                                      const PassMemory& least, bool mixed_precision);

}  // namespace tributary

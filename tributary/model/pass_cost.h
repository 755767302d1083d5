// What the training passes of a backbone cost in memory, measured before the first step.
#pragma once

#include <vector>

#include "tributary/device/device.h"
#include "tributary/model/ensemble.h"
#include "tributary/model/pass_memory.h"

namespace tributary {

// Bytes per picture of a training pass.
struct PassBytes {
  double held = 0;     // from the forward to the backward pass
  double working = 0;  // beside them while either pass runs
};

struct PassCost {
  PassBytes stored;
  std::vector<PassBytes> recomputed;  // the first segment, the first two, ..., all
  double fixed = 0;                   // bytes that do not depend on the batch: gradients, momentum, weights in bfloat16
};

// Runs passes over a few random pictures, stored and recomputed in all these ways, that leave the model as it was: a
// model of our own layers. `mixed_precision` as in training.
PassCost measure_pass(SourceModel& source, bool mixed_precision, const MemoryMeter& meter);

// Passes over one batch that a training step of a method holds at the same time.
struct HeldPasses {
  bool of_all_sources = false;  // rather than of the one that it trains
  int64_t waiting = 1;          // per source
  bool prompt = false;          // whether another one comes first, which is propagated back at once
};

// Bytes that a training step takes on top of the weights, with batches of `batch` pictures and one cost per source.
double step_bytes(const std::vector<PassCost>& costs, const HeldPasses& passes, int64_t batch,
                  const PassMemory& memory);

}  // namespace tributary

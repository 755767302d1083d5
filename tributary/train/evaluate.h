// One pass of a source over a whole set, in evaluation mode: features and logits together.
#pragma once

#include <vector>

#include "tributary/model/ensemble.h"
#include "tributary/train/batches.h"

namespace tributary {

struct Outputs {
  Tensor features;  // [n, d]
  Tensor logits;    // [n, K]
};

// In the order of the set, without gradients, with running statistics: nothing of the model changes.
// `mixed_precision` computes in bfloat16 on a GPU; what comes out is float32.
Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision = false);

// The logits of every source, [m, n, K].
Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images);

}  // namespace tributary

// One pass over a whole set, in evaluation mode: features and logits together.
#pragma once

#include <span>
#include <vector>

#include "tributary/model/ensemble.h"
#include "tributary/train/batches.h"

namespace tributary {

struct Outputs {
  Tensor features;  // [n, d]
  Tensor logits;    // [n, K]
};

// Pictures that a pass in evaluation takes at once: as many small ones as keep a GPU busy, and fewer large ones on a
// CPU, which gains nothing from more and would need gigabytes.
int64_t evaluation_batch(const DeviceImages& images);

// In the order of the set, without gradients, with running statistics: nothing of the model changes.
// `mixed_precision` computes in bfloat16 on a GPU; what comes out is float32. Several sources see each batch one after
// the other, so that pictures are read only once. Where ranks share the sources' passes they agree on the sources first
// and then divide the pictures, or the sources, among them; what comes out is equal on all.
std::vector<Outputs> evaluate(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision = false);
Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision = false);

// The logits of every source, [m, n, K].
Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images);

}  // namespace tributary

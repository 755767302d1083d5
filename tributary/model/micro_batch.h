// Forward pass of a large batch in micro-batches that fit into memory, with the gradient of the whole batch.
//
// The output holds the features of all rows, so losses over the batch keep their meaning: the marginal term of
// information maximisation and the adversary see all pictures. No activations are saved. The backward pass recomputes
// one micro-batch at a time with the same dropout masks, at the cost of a second forward pass. Only BatchNorm differs
// from a whole pass: it normalises with the statistics of the micro-batch and updates its running statistics once per
// micro-batch.
#pragma once

#include <functional>

#include "tributary/device/dropout_stream.h"

namespace tributary {

// Forward pass of one micro-batch. `recompute` is true in the backward pass, where side effects of the first pass
// (running statistics) must not be repeated.
using MicroBatchForward = std::function<Tensor(const Tensor& rows, DropoutStream* dropout_stream, bool recompute)>;
// Runs `forward` on micro-batches of at most `micro_batch` rows of `x` and concatenates the results. Parameter
// gradients are available through backward() only, not through grad(); `x` must not require a gradient.
Tensor in_micro_batches(const Tensor& x, DropoutStream* dropout_stream, int64_t micro_batch,
                        const MicroBatchForward& forward);

}  // namespace tributary

// Forward pass of a large batch in micro-batches that fit into memory, with the gradient of the whole batch.
//
// The output holds the features of all rows, so losses over the batch keep their meaning: the marginal term of
// information maximisation and the adversary see all pictures. The backward pass recomputes one micro-batch at a time
// (recomputed_pass.h). Only BatchNorm differs from a whole pass: it normalises with the statistics of the micro-batch
// and updates its running statistics once per micro-batch.
#pragma once

#include "tributary/model/recomputed_pass.h"

namespace tributary {

// Runs `forward` on micro-batches of at most `micro_batch` rows of `x`, whose sizes differ by at most one row, and
// concatenates the results.
Tensor in_micro_batches(const Tensor& x, DropoutStream* dropout_stream, int64_t micro_batch,
                        const PassForward& forward);

}  // namespace tributary

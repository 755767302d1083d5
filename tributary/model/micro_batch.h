// A pass of a large batch in pieces that fit into memory, with the gradient of the whole batch.
//
// What comes out is that of one pass, so losses over the batch keep their meaning: the marginal of information
// maximisation and the adversary see all pictures. Nothing else of the pass is kept; on the way back every piece is
// computed again, with the same dropout, and left behind before the next. It costs a second forward pass. What it
// changes is BatchNorm: in training it takes the statistics of a piece instead of the batch, and moves its running
// statistics once a piece.
#pragma once

#include <functional>

#include "tributary/device/dropout_stream.h"

namespace tributary {

// `forward(x, dropout_stream, again)` is a pass whose every row depends on its own row of `x`, or on those of the
// piece; `again` says that it was done before, and what it keeps (running statistics) is already moved. At most
// `micro_batch` rows go into one. The parameters' gradients are accumulated by backward(), and cannot be asked for with
// grad(); `x` gets none.
using MicroBatchForward = std::function<Tensor(const Tensor& x, DropoutStream* dropout_stream, bool again)>;
Tensor in_micro_batches(const Tensor& x, DropoutStream* dropout_stream, int64_t micro_batch,
                        const MicroBatchForward& forward);

}  // namespace tributary

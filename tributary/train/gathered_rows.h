// All ranks' rows of a large tensor on the first rank, for a checkpoint.
//
// A checkpoint depends on no number of ranks, so that the first rank writes the rows of all. They go to an unnamed
// file (train/feature_storage.h) instead of memory, which need only hold the rows of one rank.
#pragma once

#include "tributary/comm/row_block.h"

namespace tributary {

// Float32 [n, K] on the host of the first rank, from `own` [own rows, K] of every rank; undefined on the other ranks.
// Without divided rows it is `own` itself.
Tensor rows_on_first(const Tensor& own, const RowBlock& rows);

// The reverse: the own rows, on the host, of float32 [n, width] that the first rank has. Undefined `whole` elsewhere.
Tensor own_rows_from_first(const Tensor& whole, int64_t width, const RowBlock& rows);

}  // namespace tributary

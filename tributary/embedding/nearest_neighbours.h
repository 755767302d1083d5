// Exact nearest neighbours of every row of a matrix.
//
// One matrix product per block of rows gives all distances on the features' device, but |a|^2 - 2ab + |b|^2 cancels for
// close neighbours, and devices round differently. It therefore only selects a few more candidates than needed, whose
// distances the host computes from differences. Duplicates have distance zero, and every device finds the same
// neighbours.
#pragma once

#include "tributary/base/tensor.h"
#include "tributary/tsne/affinities.h"

namespace tributary {

// Finds the `count` < n nearest other rows of each row of `features`, float [n, d], nearest first. Ties among the
// candidates are broken by index.
NearRows nearest_rows_of(const Tensor& features, int64_t count, int threads);

}  // namespace tributary

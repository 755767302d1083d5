// The nearest neighbours of every row of a matrix, exactly.
//
// One matrix product a block of rows gives all distances, on the device of the features, but not to the last digits:
// |a|^2 - 2ab + |b|^2 cancels for neighbours, and devices round differently. So it only names some candidates more than
// needed, and the host measures their distances as the lengths of differences: duplicates are at distance zero, and
// every device finds the same.
#pragma once

#include "tributary/base/tensor.h"
#include "tributary/tsne/affinities.h"

namespace tributary {

// The `count` rows of `features`, float [n, d], nearest to each row, nearest first, without itself; equally near ones
// by index, as far as they are candidates. `count` is less than n.
NearRows nearest_rows_of(const Tensor& features, int64_t count, int threads);

}  // namespace tributary

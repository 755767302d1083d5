// The rows with the highest values, where every rank keeps its own.
//
// Ranks search the lowest value that is still among the highest: they exchange how many values lie in each of 2,048
// intervals, three times, and then the rows that were found.
#pragma once

#include <vector>

#include "tributary/comm/row_block.h"

namespace tributary {

// The numbers, in the whole set, of the `count` rows with the highest values: int64 [count] on the host, highest first.
// `value` float32 [own rows] has no larger one than NaN. Ties are broken by number, as in a stable sort.
Tensor highest_rows(const Tensor& value, int64_t count, const RowBlock& rows);

// The same of the counts[g] highest values of each group g, all groups together in one order. `group` int64 [own rows];
// no group has fewer rows than its count.
Tensor highest_rows(const Tensor& value, const Tensor& group, const std::vector<int64_t>& counts, const RowBlock& rows);

}  // namespace tributary

// Subsets of a labelled set whose classes are skewed, to test methods that assume balanced classes.
#pragma once

#include <cstdint>
#include <vector>

#include "tributary/data/image_set.h"

namespace tributary {

enum class Skew {
  kOneClass,  // one class has 75 % of the pictures, the others share the rest evenly
  kLongTail,  // shares fall geometrically from the first to the last class, 50 : 1
};

// The shares of `classes` classes, the largest first, with sum 1.
std::vector<double> skewed_shares(Skew skew, int64_t classes);

// The rows of the largest subset with these shares, ascending. Which class has which share and which pictures represent
// it is drawn with `seed`. Every class has at least one picture. Throws an InputError if a class has none, or there are
// fewer than two classes.
std::vector<int64_t> skewed_rows(const Labels& labels, Skew skew, uint64_t seed);

}  // namespace tributary

// Intervals of a proportion from a random sample.
#pragma once

#include <cstdint>

namespace tributary {

struct Interval {
  double low = 0, high = 1;
};

// The Wilson score interval of `right` of `count`; `z` = 1.96 for 95 %.
Interval wilson_interval(int64_t right, int64_t count, double z = 1.959963984540054);

// The exact interval (Clopper and Pearson), which covers the truth with at least the probability `level`.
Interval exact_interval(int64_t right, int64_t count, double level = 0.95);

}  // namespace tributary

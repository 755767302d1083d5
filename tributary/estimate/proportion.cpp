#include "tributary/estimate/proportion.h"

#include <algorithm>
#include <cmath>

#include "tributary/base/error.h"

namespace tributary {
namespace {

// P(X >= least) for X binomial with `count` trials of probability p in (0, 1).
double upper_tail(int64_t least, int64_t count, double p) {
  const auto n = static_cast<double>(count);
  double sum = 0;
  for (int64_t i = least; i <= count; ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                    (n - k) * std::log1p(-p));
  }
  return std::min(sum, 1.0);
}

// The p at which upper_tail, which rises with p, is `probability`.
double solve_upper_tail(int64_t least, int64_t count, double probability) {
  constexpr int kHalvings = 50;
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (upper_tail(least, count, middle) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

void require_counts(int64_t right, int64_t count) {
  TRIBUTARY_CHECK(count > 0 && right >= 0 && right <= count, "{} of {}", right, count);
}

}  // namespace

Interval wilson_interval(int64_t right, int64_t count, double z) {
  require_counts(right, count);
  const auto n = static_cast<double>(count);
  const double share = static_cast<double>(right) / n, weight = z * z / n;
  const double centre = (share + weight / 2) / (1 + weight);
  const double half = z * std::sqrt(share * (1 - share) / n + weight / (4 * n)) / (1 + weight);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

Interval exact_interval(int64_t right, int64_t count, double level) {
  require_counts(right, count);
  const double tail = (1 - level) / 2;
  return {right == 0 ? 0 : solve_upper_tail(right, count, tail),
          right == count ? 1 : solve_upper_tail(right + 1, count, 1 - tail)};
}

}  // namespace tributary

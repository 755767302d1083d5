#include "tributary/adapt/class_balance.h"

#include <algorithm>

#include "tributary/base/error.h"

namespace tributary {

double class_limit(const std::vector<int64_t>& sizes, double cap) {
  TRIBUTARY_CHECK(cap > 1, "a cap of {} leaves no class its mean share", cap);
  std::vector<int64_t> present;
  for (const int64_t size : sizes)
    if (size > 0) present.push_back(size);
  std::sort(present.begin(), present.end());
  const double share = cap / static_cast<double>(present.size());
  // If the classes from i on are limited, u = share (smaller + (P - i) u). The first i whose class exceeds that u is
  // it.
  double smaller = 0;
  for (size_t i = 0; i < present.size(); ++i) {
    const double rest = 1 - share * static_cast<double>(present.size() - i);
    const double limit = rest > 0 ? share * smaller / rest : 0;
    if (rest > 0 && limit < static_cast<double>(present[i])) return limit;
    smaller += static_cast<double>(present[i]);
  }
  return present.empty() ? 0 : static_cast<double>(present.back());
}

std::vector<int64_t> class_sizes(const Tensor& label, int64_t classes, const RowBlock& rows) {
  const Tensor sizes = rows.sum(at::bincount(label, {}, classes)).cpu().contiguous();
  return {sizes.data_ptr<int64_t>(), sizes.data_ptr<int64_t>() + classes};
}

Tensor balanced_sample_weights(const Tensor& label, int64_t classes, double cap, const RowBlock& rows) {
  const std::vector<int64_t> sizes = class_sizes(label, classes, rows);
  const double limit = class_limit(sizes, cap);
  std::vector<float> weight;
  for (const int64_t size : sizes)
    weight.push_back(static_cast<float>(std::min(1.0, limit / std::max(1.0, static_cast<double>(size)))));
  const Tensor samples = torch::tensor(weight).to(label.device()).index_select(0, label);
  return samples / rows.mean(samples);
}

double largest_share(const Tensor& label, int64_t classes, const RowBlock& rows) {
  const std::vector<int64_t> sizes = class_sizes(label, classes, rows);
  return static_cast<double>(*std::max_element(sizes.begin(), sizes.end())) /
         static_cast<double>(rows.total(label.size(0)));
}

bool is_skewed(double largest_share, int64_t classes) {
  constexpr double kLeast = 0.15, kPerClass = 1;
  return largest_share > kLeast + kPerClass / static_cast<double>(classes);
}

bool is_dominated(double largest_share, double trust, int64_t classes) {
  constexpr double kLeast = 0.3, kPerClass = 1.2, kLeastTrust = 0.05;
  return trust >= kLeastTrust && largest_share > kLeast + kPerClass / static_cast<double>(classes);
}

}  // namespace tributary

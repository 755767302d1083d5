#include "tributary/estimate/acceptance.h"

namespace tributary {

double check_threshold(const Tensor& confidence, double error) {
  const torch::NoGradGuard no_grad;
  constexpr double kRounding = 1e-9;
  const Tensor c = confidence.to(torch::kCPU, torch::kFloat64).contiguous();
  const int64_t count = c.size(0);
  const Tensor falling = std::get<0>(c.sort(0, /*descending=*/true)).contiguous();
  const double* const value = falling.data_ptr<double>();
  double expected = 0, threshold = kAcceptNone;  // expected errors of the first i + 1
  for (int64_t i = 0; i < count; ++i) {
    expected += 1 - value[i];
    const bool ends_ties = i + 1 == count || value[i + 1] < value[i];
    if (ends_ties && expected <= (error + kRounding) * static_cast<double>(i + 1)) threshold = value[i];
  }
  return threshold;
}

Tensor below_threshold(const Tensor& confidence, double threshold) {
  return (confidence.to(torch::kCPU, torch::kFloat64) < threshold).contiguous();
}

}  // namespace tributary

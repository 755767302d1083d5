#include "tributary/estimate/calibration_error.h"

namespace tributary {

double expected_calibration_error(const Tensor& confidence, const Tensor& right, int64_t bins) {
  const Tensor c = confidence.to(torch::kCPU, torch::kFloat64);
  const Tensor gap = right.to(torch::kCPU, torch::kFloat64) - c;
  const Tensor bin = ((c * static_cast<double>(bins)).ceil().to(torch::kInt64) - 1).clamp(0, bins - 1);
  // Within a bin, n_b |acc - conf| is the absolute sum of the gaps.
  return at::bincount(bin, gap, bins).abs().sum().item<double>() / static_cast<double>(c.size(0));
}

}  // namespace tributary

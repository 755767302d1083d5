#include "tributary/estimate/confidence_threshold.h"

#include <cmath>
#include <limits>

namespace tributary {

ConfidenceScores confidence_scores(const Tensor& logits, double temperature) {
  const torch::NoGradGuard no_grad;
  const Tensor p = (logits.to(torch::kCPU, torch::kFloat64) / temperature).softmax(1);
  return {std::get<0>(p.max(1)), at::xlogy(p, p).sum(1)};
}

double threshold_of_accuracy(const Tensor& scores, const Tensor& right) {
  const int64_t count = scores.size(0);
  const int64_t wrong = right.logical_not().sum().item<int64_t>();  // round(error n)
  if (wrong >= count) return std::numeric_limits<double>::infinity();
  return std::get<0>(scores.to(torch::kFloat64).sort())[wrong].item<double>();
}

double share_at_least(const Tensor& scores, double threshold) {
  return (scores >= threshold).to(torch::kFloat64).mean().item<double>();
}

}  // namespace tributary

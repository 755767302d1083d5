#include "tributary/estimate/temperature.h"

#include <cmath>

#include "tributary/base/error.h"
#include "tributary/model/mixture.h"

namespace tributary {
namespace {

constexpr int kHalvings = 40;  // every one passes over all logits

// The middle of the last interval: `rises` tells whether the sought value is above its argument.
template <typename Rises>
double bisect(double low, double high, const Rises& rises) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (rises(middle) ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double fit_temperature(const Tensor& logits, const Tensor& label) {
  TRIBUTARY_CHECK(logits.size(0) > 0 && logits.size(0) == label.size(0), "{} logits for {} labels", logits.size(0),
                  label.size(0));
  const torch::NoGradGuard no_grad;
  constexpr double kLeast = 0.05, kMost = 20;
  const Tensor z = logits.to(torch::kCPU, torch::kFloat64);
  const auto given = z.gather(1, label.to(torch::kCPU).unsqueeze(1)).mean().item<double>();
  // The derivative of the loss by 1 / T is the mean expected logit minus the mean logit of the label. Both are equal
  // where all labels are right and the softmax is saturated.
  const double inverse = bisect(
      kLeast, kMost, [&](double beta) { return ((z * beta).softmax(1) * z).sum(1).mean().item<double>() <= given; });
  return 1 / inverse;
}

double temperature_for_confidence(const Tensor& probabilities, double confidence, const RowBlock& rows) {
  const torch::NoGradGuard no_grad;
  constexpr double kLeast = 0.05, kMost = 50;
  // The largest of tempered() probabilities is 1 / sum_k (p_k / max p)^(1 / T).
  const Tensor logs = probabilities.to(torch::kCPU, torch::kFloat32).clamp_min(kLeastProbability).log();
  const Tensor below_top = logs - std::get<0>(logs.max(1, /*keepdim=*/true));
  const double logarithm = bisect(std::log(kLeast), std::log(kMost), [&](double at) {
    const Tensor largest = (below_top / std::exp(at)).exp_().sum(1).reciprocal();
    return rows.mean(largest.to(torch::kFloat64)).item<double>() > confidence;
  });
  return std::exp(logarithm);
}

}  // namespace tributary

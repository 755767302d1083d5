#include "tributary/adapt/label_balance.h"

#include <cmath>

namespace tributary {
namespace {

// Logarithms of probabilities, which can be 0.
Tensor logarithm(const Tensor& probability) {
  return probability.clamp_min(1e-30).log();
}

}  // namespace

Tensor balancing_offsets(const Tensor& probability, const Tensor& prior, const RowBlock& rows) {
  constexpr int kPasses = 10;
  const double largest = std::log(1e6);
  const auto classes = static_cast<double>(probability.size(1));
  const Tensor target =
      prior.defined() ? logarithm(prior) : at::full({probability.size(1)}, -std::log(classes), probability.options());
  const Tensor logits = logarithm(probability);
  Tensor offsets = at::zeros_like(target);
  for (int pass = 0; pass < kPasses; ++pass)
    offsets = (offsets + target - logarithm(rows.mean((logits + offsets).softmax(-1)))).clamp(-largest, largest);
  return offsets - offsets.mean();
}

Tensor with_offsets(const Tensor& probability, const Tensor& offsets, const Tensor& scale) {
  return (logarithm(probability) + scale * offsets).softmax(-1);
}

}  // namespace tributary

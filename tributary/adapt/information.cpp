#include "tributary/adapt/information.h"

namespace tributary {

Tensor entropy(const Tensor& probabilities, double epsilon) {
  return -at::xlogy(probabilities, probabilities + epsilon).sum(-1);
}

Tensor information_loss(const Tensor& probabilities, double epsilon, double marginal_epsilon) {
  return entropy(probabilities, epsilon).mean() - entropy(probabilities.mean(0), marginal_epsilon);
}

Tensor information_loss(const Tensor& probabilities, double epsilon, double marginal_epsilon, const RowBlock& rows) {
  if (!rows.divided()) return information_loss(probabilities, epsilon, marginal_epsilon);
  return rows.mean(entropy(probabilities, epsilon)) - entropy(rows.mean(probabilities), marginal_epsilon);
}

Tensor information_loss_with_prior(const Tensor& probabilities, const Tensor& prior, double epsilon) {
  const Tensor marginal = probabilities.mean(0);
  return entropy(probabilities, epsilon).mean() - entropy(marginal, epsilon) -
         (marginal * (prior + epsilon).log()).sum();
}

namespace {

struct WeightedMeans {
  Tensor entropy, marginal;
};

WeightedMeans weighted_means(const Tensor& probabilities, const Tensor& weight, double epsilon) {
  const Tensor share = weight / weight.sum().clamp_min(1e-12);
  return {(share * entropy(probabilities, epsilon)).sum(), (share.unsqueeze(1) * probabilities).sum(0)};
}

}  // namespace

Tensor weighted_information_loss(const Tensor& probabilities, const Tensor& weight, double epsilon,
                                 double marginal_epsilon) {
  const auto [mean, marginal] = weighted_means(probabilities, weight, epsilon);
  // Where all weights are 0, so is the marginal, and its logarithm without epsilon would have an infinite gradient.
  const Tensor any = (weight.sum() > 0).to(probabilities.scalar_type());
  return any * (mean - entropy(at::where(any > 0, marginal, 1.0), marginal_epsilon));
}

Tensor weighted_information_loss_with_prior(const Tensor& probabilities, const Tensor& weight, const Tensor& prior,
                                            double epsilon) {
  const auto [mean, marginal] = weighted_means(probabilities, weight, epsilon);
  return mean - entropy(marginal, epsilon) - (marginal * (prior + epsilon).log()).sum();
}

}  // namespace tributary

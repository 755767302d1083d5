#include "tributary/adapt/information.h"

namespace tributary {

Tensor entropy(const Tensor& probabilities, double epsilon) {
  return -at::xlogy(probabilities, probabilities + epsilon).sum(-1);
}

Tensor information_loss(const Tensor& probabilities, double epsilon, double marginal_epsilon) {
  return entropy(probabilities, epsilon).mean() - entropy(probabilities.mean(0), marginal_epsilon);
}

Tensor information_loss_with_prior(const Tensor& probabilities, const Tensor& prior, double epsilon) {
  const Tensor marginal = probabilities.mean(0);
  return entropy(probabilities, epsilon).mean() - entropy(marginal, epsilon) -
         (marginal * (prior + epsilon).log()).sum();
}

}  // namespace tributary

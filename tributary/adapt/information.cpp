#include "tributary/adapt/information.h"

namespace tributary {

Tensor entropy(const Tensor& probabilities, double epsilon) {
  return -at::xlogy(probabilities, probabilities + epsilon).sum(-1);
}

Tensor information_loss(const Tensor& probabilities, double epsilon, double marginal_epsilon) {
  return entropy(probabilities, epsilon).mean() - entropy(probabilities.mean(0), marginal_epsilon);
}

}  // namespace tributary

#include "tributary/adapt/prototypes.h"

namespace tributary {

Tensor class_prototypes(const Tensor& features, const Tensor& label, const Tensor& probabilities, EmptyClass empty) {
  const int64_t classes = probabilities.size(1);
  const Tensor index = torch::arange(classes, label.options());
  const Tensor member = (label.unsqueeze(1) == index).to(features.scalar_type());  // [n, K]
  const Tensor count = member.sum(0).unsqueeze(1);
  const Tensor mean = member.t().matmul(features) / count.clamp_min(1);
  if (empty == EmptyClass::kZero) return mean;
  const Tensor weighted = probabilities.t().matmul(features) / (probabilities.sum(0).unsqueeze(1) + 1e-12);
  return at::where(count > 0, mean, weighted);
}

Tensor prototype_posterior(const Tensor& features, const Tensor& prototypes, const PrototypeOptions& options) {
  const bool squared = options.kernel == PrototypeKernel::kSquared;
  const double temperature = options.temperature > 0 ? options.temperature : (squared ? 10.0 : 1.0);
  // Differences, not |a|^2 - 2ab + |b|^2: near a prototype the latter loses all its digits.
  const Tensor distance = at::cdist(features, prototypes, 2.0, /*compute_mode=*/2);
  return (squared ? -distance.square() / (2 * temperature) : -distance / temperature).softmax(-1);
}

Tensor refined_posterior(const Tensor& features, const Tensor& label, const Tensor& probabilities,
                         const PrototypeOptions& options) {
  Tensor current = label;
  for (int64_t pass = 1;; ++pass) {
    const Tensor prototypes = class_prototypes(features, current, probabilities, options.empty);
    const Tensor posterior = prototype_posterior(features, prototypes, options);
    if (pass >= options.passes) return posterior;
    current = at::where(label >= 0, posterior.argmax(-1), label);
  }
}

}  // namespace tributary

#include "tributary/methods/ma/virtual_adversarial.h"

#include <torch/csrc/autograd/autograd.h>

namespace tributary {
namespace {

// Reshapes one number per sample to broadcast against x.
Tensor spread(const Tensor& numbers, const Tensor& x) {
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  return numbers.view(shape);
}

Tensor lengths(const Tensor& x) {
  return x.flatten(1).square().sum(1).sqrt();
}

// Normalises each sample to length one; zero stays zero. Divides by the largest entry first, because squares of small
// gradients underflow.
Tensor unit(const Tensor& x) {
  constexpr double kSmallest = 1e-37;
  const Tensor scaled = x / spread(x.flatten(1).abs().amax(1).clamp_min(kSmallest), x);
  return scaled / spread(lengths(scaled).clamp_min(kSmallest), x);
}

}  // namespace

Tensor virtual_adversarial_change(const Tensor& x, const Tensor& logits, const Tensor& start,
                                  const VirtualAdversary& adversary, const Prediction& predict) {
  const Tensor samples = x.detach();
  const Tensor probe = (unit(start.detach()) * adversary.probe).requires_grad_();
  const Tensor divergence = prediction_divergence(logits, predict(samples + probe));
  const Tensor direction = unit(torch::autograd::grad({divergence}, {probe}).front());
  return direction * (adversary.relative ? spread(lengths(samples) * adversary.radius, x)
                                         : torch::full({}, adversary.radius, samples.options()));
}

Tensor prediction_entropy(const Tensor& logits) {
  const Tensor logarithm = logits.log_softmax(1);
  return -(logarithm.exp() * logarithm).sum(1).mean();
}

Tensor prediction_divergence(const Tensor& fixed, const Tensor& moved) {
  const Tensor logarithm = fixed.detach().log_softmax(1);
  return (logarithm.exp() * (logarithm - moved.log_softmax(1))).sum(1).mean();
}

}  // namespace tributary

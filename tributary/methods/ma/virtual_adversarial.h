// Virtual adversarial training (Miyato et al., 2018): makes predictions robust to the small perturbation that changes
// them most (docs/baselines.md, MA).
//
// Together with entropy minimisation it is the clustering loss of MA (Li et al., CVPR 2020): decision boundaries move
// to where there are no samples.
#pragma once

#include <functional>

#include "tributary/base/tensor.h"

namespace tributary {

struct VirtualAdversary {
  double probe = 0.1;     // norm of the random initial perturbation; much smaller values are lost in rounding
  double radius = 3.5;    // norm of the resulting perturbation
  bool relative = false;  // the radius is relative to the norm of the sample
};

// Logits [n, K] of samples [n, ...]. May be called with inputs that require a gradient.
using Prediction = std::function<Tensor(const Tensor& x)>;

// The perturbation r of each sample x [n, ...] to which the prediction is most sensitive, to second order and after one
// power iteration: r = radius g / |g| with g = grad_r KL(p || predict(x + r)) at r = probe d / |d|. Here d is `start`,
// normal numbers in the shape of x, and p the softmax of `logits` [n, K]. Zero where g is zero. Has no gradient.
Tensor virtual_adversarial_change(const Tensor& x, const Tensor& logits, const Tensor& start,
                                  const VirtualAdversary& adversary, const Prediction& predict);

// Mean over rows of -sum_k p_k ln p_k with p the softmax of logits [n, K]: [].
Tensor prediction_entropy(const Tensor& logits);

// Mean over rows of KL(p || q), where p is the softmax of `fixed` [n, K], which gets no gradient, and q that of
// `moved`: [].
Tensor prediction_divergence(const Tensor& fixed, const Tensor& moved);

}  // namespace tributary

// Virtual adversarial training (Miyato et al., 2018): predictions that do not change under the small change of the
// input that would change them most (docs/method.md, MA).
//
// Together with certain predictions it is the clustering loss of MA (Li et al., CVPR 2020): borders between
// classes move to where there are no samples.
#pragma once

#include <functional>

#include "tributary/base/tensor.h"

namespace tributary {

struct VirtualAdversary {
  double probe = 0.1;     // length of the first, random change; far smaller ones drown in rounding
  double radius = 3.5;    // length of the change that comes out
  bool relative = false;  // the radius is in units of the sample's own length
};

// Logits [n, K] of samples [n, ...]. May be called with inputs that need a gradient.
using Prediction = std::function<Tensor(const Tensor& x)>;

// The change r of each sample x [n, ...] in which the prediction is most sensitive, to second order and after one power
// iteration: r = radius g / |g| with g = grad_r KL(p || predict(x + r)) at r = probe d / |d|, where d is `start`,
// normal numbers in the shape of x, and p the softmax of `logits` [n, K]. Zero where g is. Without gradient.
Tensor virtual_adversarial_change(const Tensor& x, const Tensor& logits, const Tensor& start,
                                  const VirtualAdversary& adversary, const Prediction& predict);

// Mean over rows of -sum_k p_k ln p_k with p the softmax of logits [n, K]: [].
Tensor prediction_entropy(const Tensor& logits);

// Mean over rows of KL(p || q) with p the softmax of `fixed` [n, K], which gets no gradient, q that of `moved`: [].
Tensor prediction_divergence(const Tensor& fixed, const Tensor& moved);

}  // namespace tributary

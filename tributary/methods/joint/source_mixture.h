// Several sources as one network: weights on the simplex, fusion, and the losses of the mixture.
//
// DECISION (Ahmed et al., CVPR 2021) and CAiDA (Dong et al., NeurIPS 2021) train one weight per source together with
// the sources (docs/baselines.md). The weights are the same for every picture. The loss depends on the mixture alone,
// so the gradient of a source is proportional to its weight.
#pragma once

#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// sigma(w_j) / (sum_l sigma(w_l) + 1e-16) for w [m] (DECISION). Never zero.
Tensor sigmoid_weights(const Tensor& raw);

// softmax_j(u_j + b) for u [m] and b [1] (CAiDA). The bias cancels; it is kept because weight decay applies to it.
Tensor softmax_weights(const Tensor& scores, const Tensor& bias);

// sum_j w_j R_j for rows R_j [n, d] per source: [n, d]. Rows of different widths are concatenated instead, as w_j R_j
// side by side, [n, sum d_j]; the methods need only distances between rows, which this preserves.
Tensor fused(const std::vector<Tensor>& rows, const Tensor& weights);

// sum_j w_j z_j for logits [m, n, K]: [n, K].
Tensor mixed_logits(const Tensor& logits, const Tensor& weights);

// The disagreement of sources about classes (CAiDA, L_cr). For every class in `labels`, int64 [n], r_j is the softmax
// of the mean of w_j z_j over its pictures, clamped to at least 1e-8. Sums the symmetric Kullback-Leibler divergences
// of all ordered pairs of sources and divides by K m.
Tensor class_relation_loss(const Tensor& logits, const Tensor& weights, const Tensor& labels);

// Loss weights relative to information maximisation. Class relations with weight zero are not computed.
struct MixtureLossWeights {
  double labels = 0.1;
  double relations = 0;
};

struct MixtureLoss {
  Tensor objective;  // [], to be minimised
  Tensor parts;      // [2] or, with relations, [3]: cross-entropy, information, class relations; without gradients
};

// The loss of the mixture of logits [m, n, K] under weights [m] with labels, int64 [n]. Gradients reach both.
MixtureLoss mixture_loss(const Tensor& logits, const Tensor& weights, const Tensor& labels,
                         const MixtureLossWeights& counts);

}  // namespace tributary

// Several sources as one network: weights on the simplex, what they fuse, and the losses of the mixture.
//
// DECISION (Ahmed et al., CVPR 2021) and CAiDA (Dong et al., NeurIPS 2021) train one weight per source along with the
// sources (docs/method.md). The weights are the same for every picture; the loss is one of the mixture alone, so that a
// source is moved as far as the mixture listens to it.
#pragma once

#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// sigma(w_j) / (sum_l sigma(w_l) + 1e-16) for w [m] (DECISION). Can never be zero.
Tensor sigmoid_weights(const Tensor& raw);

// softmax_j(u_j + b) for u [m] and b [1] (CAiDA). The bias cancels; it is there because weight decay touches it.
Tensor softmax_weights(const Tensor& scores, const Tensor& bias);

// sum_j w_j R_j for rows R_j [n, d] of every source: [n, d]. Rows of different widths have no sum; then w_j R_j stand
// side by side, [n, sum d_j], which keeps what the methods ask of them, namely who is near to whom.
Tensor fused(const std::vector<Tensor>& rows, const Tensor& weights);

// sum_j w_j z_j for logits [m, n, K]: [n, K].
Tensor mixed_logits(const Tensor& logits, const Tensor& weights);

// How much sources disagree about what a class looks like (CAiDA, L_cr): for every class that `labels`, int64 [n],
// name, r_j is the softmax of the mean of w_j z_j over its pictures, kept above 1e-8; the symmetric Kullback-Leibler
// divergences of all ordered pairs of sources are summed and divided by K m.
Tensor class_relation_loss(const Tensor& logits, const Tensor& weights, const Tensor& labels);

// Information maximisation counts once; the others as follows. Relations that count nothing are not computed.
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

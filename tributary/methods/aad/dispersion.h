// Attracting and dispersing (Yang et al., NeurIPS 2022; docs/baselines.md, AaD): neighbours are predicted alike, all
// others differently.
//
// The attraction pulls a prediction towards those of the nearest features. Alone, it would be content with one class
// for everything. The dispersion pushes the predictions of a batch apart; it fades as clusters form, because a batch
// also holds pictures of the same class.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// lambda = alpha (1 + 10 it/I)^-beta, where `done` counts the steps before this one: a tensor like `done`, [].
Tensor dispersion_weight(const Tensor& done, int64_t steps, double alpha, double beta);

// L_att = -mean_i sum_k w_k s_ik . p_i for probabilities p [b, K], the neighbours' scores s [b, N, K], without
// gradient, and w [N], 1 for the ranks that count and 0 for the others: [].
Tensor attraction(const Tensor& probabilities, const Tensor& neighbour_scores, const Tensor& counted);

// L_dis = 1/b sum_i p_i . (S - p_i) for probabilities p [b, K]: []. S is the sum of all rows, so that no product of all
// pairs is needed. The gradient goes through both factors, dL/dp_i = 2/b (S - p_i); with `one_sided` it is half of
// that.
Tensor dispersion(const Tensor& probabilities, bool one_sided = false);

// The share of some rows p [r, K] of a batch of `batch` rows whose sum is `sum` [K]. The shares of all rows add up to
// the dispersion of the batch, and their gradients are the batch's.
Tensor dispersion_share(const Tensor& probabilities, const Tensor& sum, int64_t batch, bool one_sided = false);

}  // namespace tributary

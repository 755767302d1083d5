// Weight mixup (Lee et al., ICML 2022; docs/baselines.md, CoWA-JMDS): pictures, labels and confidences are mixed alike.
//
// The weight of a mixed picture is the mixture of both weights. This is not the sum of two weighted losses, in which
// each label would carry its own weight.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// ratio_i v_i + (1 - ratio_i) v_partner(i) for values [b, ...], partners int64 [b] and ratios [b].
Tensor mix_rows(const Tensor& values, const Tensor& partner, const Tensor& ratio);

constexpr double kLogEpsilon = 1e-6;

// mean_i weight_i (-sum_k target_ik ln(p_ik + 1e-6)) for probabilities p [b, K], targets [b, K] and weights [b]: [].
// The mean divides by b, not by the sum of the weights.
Tensor weighted_soft_cross_entropy(const Tensor& probabilities, const Tensor& target, const Tensor& weight);

// 1e-6 while fewer than `steps` are done, then 1: the factor of the loss in the warm-up. `done` is float [].
Tensor warm_up_factor(const Tensor& done, int64_t steps);

}  // namespace tributary

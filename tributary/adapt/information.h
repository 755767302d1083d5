// Information maximisation (Eq. 12): predictions that are certain one by one and diverse together.
#pragma once

#include "tributary/comm/row_block.h"

namespace tributary {

constexpr double kEntropyEpsilon = 1e-5;

// -sum_k p_k ln(p_k + epsilon) over the last dimension. With epsilon 0, 0 ln 0 counts as 0.
Tensor entropy(const Tensor& probabilities, double epsilon = kEntropyEpsilon);

// IM(P) = mean_i entropy(P_i) - entropy(mean_i P_i), to be minimised: the negative of the empirical mutual information
// between a sample and its predicted class. `marginal_epsilon` belongs to the second term, which the released code
// computes without one.
Tensor information_loss(const Tensor& probabilities, double epsilon = kEntropyEpsilon,
                        double marginal_epsilon = kEntropyEpsilon);
// The same for a set whose rows are divided.
Tensor information_loss(const Tensor& probabilities, double epsilon, double marginal_epsilon, const RowBlock& rows);

// mean_i entropy(P_i) + KL(mean_i P_i || prior): diversity relative to a class prior [K]. For the uniform prior it is
// IM(P) + ln K, up to epsilon.
Tensor information_loss_with_prior(const Tensor& probabilities, const Tensor& prior, double epsilon = kEntropyEpsilon);

// The two losses with a weight per sample, float [n], for both means: sum_i r_i x_i / sum_i r_i. 0 if all weights are.
Tensor weighted_information_loss(const Tensor& probabilities, const Tensor& weight, double epsilon = kEntropyEpsilon,
                                 double marginal_epsilon = kEntropyEpsilon);
Tensor weighted_information_loss_with_prior(const Tensor& probabilities, const Tensor& weight, const Tensor& prior,
                                            double epsilon = kEntropyEpsilon);

}  // namespace tributary

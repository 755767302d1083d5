// Temperatures that calibrate confidence: of a source with its labels, of a mixture with an estimated accuracy.
#pragma once

#include "tributary/comm/row_block.h"

namespace tributary {

// The temperature T that minimises the mean negative log-likelihood of softmax(z / T), for logits [n, K] and labels
// int64 [n]. The loss is convex in 1 / T, which is searched in [0.05, 20]; if all labels are right, T is 0.05.
double fit_temperature(const Tensor& logits, const Tensor& label);

// The temperature at which the mean of max_k of tempered() probabilities (model/mixture.h) is `confidence`, for
// probabilities [n, K], of which ranks may keep their own rows. Searched in [0.05, 50]: it is the nearer end where none
// in that range fits.
double temperature_for_confidence(const Tensor& probabilities, double confidence, const RowBlock& rows = {});

}  // namespace tributary

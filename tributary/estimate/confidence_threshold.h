// Accuracy of an unadapted source on another domain from a threshold on its confidence (ATC, Garg et al. 2022).
//
// The threshold belongs to the source's own confidence. An adapted model is confident everywhere, so its accuracy
// cannot be estimated this way.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// Scores float64 [n] of logits [n, K] at a temperature: max_k p_k, and sum_k p_k ln p_k.
struct ConfidenceScores {
  Tensor confidence, negative_entropy;
};
ConfidenceScores confidence_scores(const Tensor& logits, double temperature);

// The threshold t for which the share of scores below t is the share of wrong labels: element round(error n) of the
// scores in ascending order, or infinity if all are wrong. `right` is bool [n].
double threshold_of_accuracy(const Tensor& scores, const Tensor& right);

// The share of scores of at least `threshold`: the estimated accuracy.
double share_at_least(const Tensor& scores, double threshold);

}  // namespace tributary

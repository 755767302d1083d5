// Detects collapsed adaptations without labels.
//
// Self-training can reinforce its own errors: it predicts fewer and fewer classes with growing confidence, or trusts
// one source alone. Without labels, only the predictions before and after can tell.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// Statistics of the predictions of a target set.
struct LabelFreeScores {
  double classes = 0;           // predicted for at least 1 / (10 K) of the pictures, a tenth of a fair share
  double entropy = 0;           // mean over the pictures: uncertainty of the mixture
  double marginal_entropy = 0;  // of the mean prediction: how evenly the classes are used
  double trust = 0;             // the largest share of a source in the mixture; 1 / m if all are equal
};

// For probabilities [n, K] and weights [m] of the sources; undefined weights mean 1 / `sources` each.
LabelFreeScores label_free_scores(const Tensor& probabilities, const Tensor& weights, int64_t sources);

// One sentence per sign of collapse between `before` and `after`; empty if there is none. `sources` is m.
//   few classes left    at most half as many classes as before, and two or more are gone
//   one source only     99 % of the trust, where it was not so before
//   marginal entropy    fell by more than a quarter
std::vector<std::string> signs_of_collapse(const LabelFreeScores& before, const LabelFreeScores& after,
                                           int64_t sources);

}  // namespace tributary

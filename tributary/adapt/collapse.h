// Whether an adaptation went wrong, as far as that can be seen without labels.
//
// Self-training can talk itself into a corner: fewer and fewer classes are predicted, ever more surely, or one source
// alone is believed. Accuracy would tell; what there is without labels are the predictions before and after.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// What the predictions of a target set look like.
struct LabelFreeScores {
  double classes = 0;           // that a tenth of their fair share of the pictures, 1 / (10 K), or more is predicted as
  double entropy = 0;           // mean over the pictures: how unsure the mixture is
  double marginal_entropy = 0;  // of the mean prediction: how evenly the classes are used
  double trust = 0;             // the largest share of a source in the mixture; 1 / m where all count alike
};

// Of probabilities [n, K] and the sources' weights [m]; undefined weights are equal ones of `sources`.
LabelFreeScores label_free_scores(const Tensor& probabilities, const Tensor& weights, int64_t sources);

// What is suspicious about the way from `before` to `after`, a sentence each; nothing where nothing is. `classes` and
// `sources` are K and m.
//   few classes left    at most half as many classes as before, and two or more are gone
//   one source only     99 % of the trust, where it was not so before
//   marginal entropy    fell by more than a quarter
std::vector<std::string> signs_of_collapse(const LabelFreeScores& before, const LabelFreeScores& after,
                                           int64_t sources);

}  // namespace tributary

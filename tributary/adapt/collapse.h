// Detects collapsed adaptations without labels.
//
// Self-training can reinforce its own errors: it predicts fewer and fewer classes with growing confidence, or trusts
// one source alone. Without labels, only the predictions before and after can tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tributary/comm/row_block.h"

namespace tributary {

// Statistics of the predictions of a target set.
struct LabelFreeScores {
  double classes = 0;           // predicted for at least 1 / (10 K) of the pictures, a tenth of a fair share
  double entropy = 0;           // mean over the pictures: uncertainty of the mixture
  double marginal_entropy = 0;  // of the mean prediction: how evenly the classes are used
  double trust = 0;             // the largest share of a source in the mixture; 1 / m if all are equal
};

// For probabilities [n, K], of which ranks may keep their own rows, and weights [m] of the sources; undefined weights
// mean 1 / `sources` each.
LabelFreeScores label_free_scores(const Tensor& probabilities, const Tensor& weights, int64_t sources,
                                  const RowBlock& rows = {});

// One sentence per sign of collapse between `before` and `after`; empty if there is none. `sources` is m.
//   few classes left    at most half as many classes as before, and two or more are gone
//   one source only     99 % of the trust, where it was not so before
//   marginal entropy    fell by more than a quarter
std::vector<std::string> signs_of_collapse(const LabelFreeScores& before, const LabelFreeScores& after,
                                           int64_t sources);

// The total variation distance between the class histograms of two labellings, int64 [n]: the smallest share of
// pictures that must change their label to turn one histogram into the other.
double histogram_distance(const Tensor& before, const Tensor& after, int64_t classes);

// A sentence if the class histogram drifted farther than relabelling doubtful pictures explains: its distance exceeds
// both 0.15 and `doubtful_share` (WitnessRule::doubtful_share). Pictures whose labels the sources had agreed on must
// then have moved, and towards certain classes.
std::optional<std::string> sign_of_drift(const Tensor& before, const Tensor& after, int64_t classes,
                                         double doubtful_share);

}  // namespace tributary

// From the logits of several sources to one prediction (Proposition 4.1; spec 01).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

enum class Combination {
  kMeanProbability,        // mean of the softmax outputs: the plain source ensemble
  kMeanLogit,              // softmax of the mean logits: what weighted logits are with uniform weights
  kVote,                   // majority of the sources, ties to the larger mean probability
  kWeightedLogits,         // softmax(sum_j w_j z_j), the scale of w being an inverse temperature
  kWeightedProbabilities,  // sum_j w_j softmax(z_j), w summing to one
};

// The names of the rules in model files and on the command line.
const std::vector<std::pair<std::string, Combination>>& combination_names();

// How the sources of a model are put together. Weights, float [m], are undefined for the unweighted rules.
struct Mixture {
  Combination rule = Combination::kMeanProbability;
  Tensor weights;
};

// Votes are whole; this share of one, by mean probability, breaks ties.
inline constexpr double kTieShare = 0.25;

// Logits [m, n, K] to probabilities [n, K].
Tensor combine(const Tensor& logits, const Mixture& mixture);

}  // namespace tributary

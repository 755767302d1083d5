// Combines the logits of several sources into one prediction (Proposition 4.1).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

enum class Combination {
  kMeanProbability,        // mean of the softmax outputs: the plain source ensemble
  kMeanLogit,              // softmax of the mean logits: kWeightedLogits with uniform weights
  kVote,                   // majority vote of the sources, ties broken by the mean probability
  kWeightedLogits,         // softmax(sum_j w_j z_j); the scale of w acts as an inverse temperature
  kWeightedProbabilities,  // sum_j w_j softmax(z_j); w sums to one
};

// The names of the rules in model files and on the command line.
const std::vector<std::pair<std::string, Combination>>& combination_names();

// The rule that combines the sources of a model.
struct Mixture {
  Combination rule = Combination::kMeanProbability;
  Tensor weights;  // float [m]; undefined for the unweighted rules
  // Calibrates the confidence: p becomes proportional to p^(1 / temperature). It changes no label. 1 while training.
  double temperature = 1;
};

// Smaller probabilities count as this one in tempered().
inline constexpr double kLeastProbability = 1e-30;

// Probabilities [n, K] at a temperature: p^(1 / temperature), normalised.
Tensor tempered(const Tensor& probabilities, double temperature);

// Fraction of a vote that the mean probability contributes, to break ties; below one half, so it decides nothing else.
inline constexpr double kTieShare = 0.25;

// Logits [m, n, K] to probabilities [n, K].
Tensor combine(const Tensor& logits, const Mixture& mixture);

}  // namespace tributary

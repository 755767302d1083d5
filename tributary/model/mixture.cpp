#include "tributary/model/mixture.h"

namespace tributary {
namespace {

// Normalised votes [n, K]. Adding less than half a vote of mean probability to every class breaks ties and changes no
// other order.
Tensor vote(const Tensor& logits) {
  const auto sources = static_cast<double>(logits.size(0));
  const Tensor share = at::one_hot(logits.argmax(-1), logits.size(2)).to(logits.scalar_type()).mean(0);
  const Tensor ballot = share + logits.softmax(-1).mean(0) * (kTieShare / sources);
  return ballot / ballot.sum(-1, true);
}

}  // namespace

const std::vector<std::pair<std::string, Combination>>& combination_names() {
  static const std::vector<std::pair<std::string, Combination>> names = {
      {"mean_prob", Combination::kMeanProbability},
      {"mean_logit", Combination::kMeanLogit},
      {"vote", Combination::kVote},
      {"weighted_logits", Combination::kWeightedLogits},
      {"weighted_probabilities", Combination::kWeightedProbabilities},
  };
  return names;
}

Tensor tempered(const Tensor& probabilities, double temperature) {
  if (temperature == 1) return probabilities;
  return (probabilities.clamp_min(kLeastProbability).log() / temperature).softmax(-1);
}

namespace {

Tensor combine_by_rule(const Tensor& logits, const Mixture& mixture) {
  const auto weighted = [&](const Tensor& parts) {
    return at::tensordot(mixture.weights.to(parts.device()), parts, {0}, {0});
  };
  switch (mixture.rule) {
    case Combination::kMeanProbability:
      return logits.softmax(-1).mean(0);
    case Combination::kMeanLogit:
      return logits.mean(0).softmax(-1);
    case Combination::kVote:
      return vote(logits);
    case Combination::kWeightedLogits:
      return weighted(logits).softmax(-1);
    case Combination::kWeightedProbabilities:
      return weighted(logits.softmax(-1));
  }
  return {};
}

}  // namespace

Tensor combine(const Tensor& logits, const Mixture& mixture) {
  return tempered(combine_by_rule(logits, mixture), mixture.temperature);
}

}  // namespace tributary

// The published ranking scores (adapt/ranking_scores.h) of every round, for the metrics log.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "tributary/adapt/ranking_scores.h"
#include "tributary/checkpoint/state_checks.h"
#include "tributary/methods/observer.h"

namespace tributary {

class RoundScores {
 public:
  // The scores of the next round: "agreement_with_mean" (of the rounds so far), "mutual_information",
  // "neighbourhood_density", "class_correlation", and "mano", the mean over the sources.
  nlohmann::json of(const RoundEvent& event);
  void save(nlohmann::json& state) const;
  void restore(const nlohmann::json& state);
  NamedTensors tensors() const;
  void restore_tensors(const NamedTensors& tensors);
  // Throws an InputError unless the restored state is of such a run.
  void require_fit(const RunShape& shape) const;

 private:
  Tensor sum_;                    // [n, K], of the probabilities of all rounds
  std::optional<ManoNorm> mano_;  // chosen in round 0
};

}  // namespace tributary

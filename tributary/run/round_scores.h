// The published ranking scores (adapt/ranking_scores.h) of every round, for the metrics log.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "tributary/adapt/ranking_scores.h"
#include "tributary/checkpoint/state_checks.h"
#include "tributary/methods/observer.h"

namespace tributary {

// Where rows are divided every rank must observe the rounds: it adds up its own rows.
class RoundScores : public Observer {
 public:
  void on_round(const RoundEvent& event) override;
  // Of the last round: "agreement_with_mean" (of the rounds so far), "mutual_information", "neighbourhood_density",
  // "class_correlation", and "mano", the mean over the sources.
  const nlohmann::json& last() const { return last_; }

  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;
  NamedTensors tensors() const override;
  void restore_tensors(const NamedTensors& tensors) override;
  // Throws an InputError unless the restored state is of such a run.
  void require_fit(const RunShape& shape) const;

 private:
  void share_restored(const RoundEvent& event);
  double mano_of(const RoundEvent& event);

  nlohmann::json last_;
  Tensor sum_;                    // [n, K], own rows, of the probabilities of all rounds
  Tensor saved_;                  // [n, K], of all ranks: what a checkpoint needs, on the first rank
  bool shared_ = false;           // whether all ranks have what the first one restored
  std::optional<ManoNorm> mano_;  // chosen in round 0
};

}  // namespace tributary

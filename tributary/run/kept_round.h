// Judges every round of an adaptation without labels, and decides which one the run hands back (docs/method.md, Which
// round is kept).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tributary/adapt/collapse.h"
#include "tributary/adapt/witness.h"
#include "tributary/checkpoint/state_checks.h"
#include "tributary/methods/keep_rule.h"
#include "tributary/methods/round_figures.h"
#include "tributary/run/predictions.h"

namespace tributary {

// The result of one round. Tensors are on the host.
struct RoundResult {
  int64_t round = 0;
  NamedTensors models;  // Ensemble::state
  Mixture mixture;
  Tensor weights;  // raw domain weights; undefined if the method has none
  PredictedLabels predictions;
  LabelFreeScores scores;
};

// With KeepRule::kLabelFree it keeps a copy of the latest round that was not rejected. With kLast it only judges.
class KeptRound : public Observer {
 public:
  // With `adapted_sources`, which were adapted together before, rounds are judged by signs of collapse alone.
  explicit KeptRound(KeepRule rule, bool adapted_sources = false) : rule_(rule), adapted_sources_(adapted_sources) {}
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;
  NamedTensors tensors() const override;
  void restore_tensors(const NamedTensors& tensors) override;
  bool wants_stop() const override;

  // Throws an InputError if the restored state is not of such a run of these models.
  void require_fit(const RunShape& shape, const Ensemble& ensemble) const;

  // The kept round: the last one that was not rejected, or with kLast the last one.
  int64_t round() const;
  bool is_last() const { return round() == last_round(); }
  // The kept round's result, if it is not the last one.
  const RoundResult& result() const { return candidate_; }
  // Copies the kept models and their mixture into `ensemble`.
  void hand_back(Ensemble& ensemble) const;
  // Signs of collapse in the kept round; those of an earlier round are none.
  std::vector<std::string> signs_of_collapse() const { return is_last() ? signs_ : std::vector<std::string>(); }

  const WitnessRule& witnesses() const { return witnesses_; }
  // Of the mixture before any training, int64 [n].
  const Tensor& first_label() const { return first_label_; }

  // "kept" of the summary; null with kLast.
  nlohmann::json to_json() const;
  // "stopped" of the summary; null if all rounds were done.
  nlohmann::json stop_json() const;
  // The witness figures of the last round, for the log; null before the first.
  const nlohmann::json& witness_metrics() const { return witness_metrics_; }

 private:
  // Whether the unadapted sources can judge a round.
  bool judges() const { return !adapted_sources_ && !witnesses_.abstains(); }
  // The estimated accuracy of a round (estimate/accuracy_estimate.h) of sources that know the same classes; nothing for
  // fewer than three sources, or if they were adapted together.
  std::optional<double> estimate_of(const RoundFigures& figures, bool adapted) const;
  // What speaks against a round with this estimate.
  std::optional<std::string> loss_in(double estimate) const;
  int64_t last_round() const { return static_cast<int64_t>(reasons_.size()) - 1; }
  std::vector<int64_t> rejected() const;
  std::string reason() const;
  std::string stop_reason() const;
  void count_settled(const RoundEvent& event, const Tensor& label);

  KeepRule rule_;
  bool adapted_sources_;
  WitnessRule witnesses_;
  Tensor first_label_;  // int64 [n], of the mixture in round 0
  LabelFreeScores first_scores_;
  std::optional<double> first_estimate_, best_estimate_;  // of the accuracy, in round 0 and the best one after it
  std::vector<std::string> signs_;                        // of collapse, in the last round
  std::vector<std::vector<std::string>> reasons_;         // to reject a round; round 0 first
  nlohmann::json witness_metrics_;
  RoundResult candidate_;
  Tensor previous_label_;  // pseudo-labels of the last round, int64 [n]
  int64_t settled_ = 0;    // rounds in a row that trained on the whole target set and changed no pseudo-label
  int64_t rounds_ = 0;     // planned
  std::string finished_;   // RoundEvent::finished
};

}  // namespace tributary

// Collects the figures for the summary of an adaptation.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tributary/adapt/collapse.h"
#include "tributary/methods/observer.h"
#include "tributary/run/kept_round.h"

namespace tributary {

class RunRecord : public Observer {
 public:
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;

  // The last round, without its features.
  const RoundEvent& last() const { return last_; }
  // Throws an InputError if the restored state is not of such a run.
  void require_fit(const RunShape& shape) const;
  // The mixture before any training.
  const Mixture& first_mixture() const { return first_mixture_; }
  // Adds pictures, rounds, confident counts, the sources with their weights, seconds and label-free scores.
  void add_to(nlohmann::json& summary) const;
  // Replaces the figures of the last round in `summary` by those of an earlier one, the result of the run.
  void replace_result(nlohmann::json& summary, const RoundResult& result) const;

 private:
  LabelFreeScores scores() const;
  double changed_share(const Tensor& label) const;

  RoundEvent last_;
  Mixture first_mixture_;
  LabelFreeScores first_scores_;
  std::vector<int64_t> first_labels_;  // per picture
  std::vector<int64_t> confident_;     // pictures, round 0 first
  double seconds_ = 0;
  PhaseSeconds phases_;
};

}  // namespace tributary

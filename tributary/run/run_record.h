// Collects the figures for the summary of an adaptation.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tributary/adapt/collapse.h"
#include "tributary/methods/round_figures.h"
#include "tributary/run/kept_round.h"

namespace tributary {

class RunRecord : public Observer {
 public:
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;
  NamedTensors tensors() const override;
  void restore_tensors(const NamedTensors& tensors) override;

  // The last round, without the tensors that have a row per picture.
  const RoundEvent& last() const { return last_; }
  // Throws an InputError if the restored state is not of such a run of these models.
  void require_fit(const RunShape& shape, const Ensemble& ensemble) const;
  // The mixture before any training.
  const Mixture& first_mixture() const { return first_mixture_; }
  // Gives `unadapted`, the sources as they were loaded, the BatchNorm statistics of round 0: those of the target set,
  // if the run took them.
  void restore_first_statistics(Ensemble& unadapted) const;
  // Adds pictures, rounds, confident counts, the sources with their weights, seconds and label-free scores.
  void add_to(nlohmann::json& summary) const;
  // Replaces the figures of the last round in `summary` by those of an earlier one, the result of the run.
  void replace_result(nlohmann::json& summary, const RoundResult& result) const;

 private:
  double changed_share(const Tensor& label) const;

  RoundEvent last_;
  RoundFigures last_figures_;
  Mixture first_mixture_;
  std::map<std::string, Tensor> first_statistics_;  // of BatchNorm in round 0, on the host
  LabelFreeScores first_scores_;
  std::vector<int64_t> first_labels_;  // per picture
  std::vector<int64_t> confident_;     // pictures, round 0 first
  double seconds_ = 0;
  PhaseSeconds phases_;
};

}  // namespace tributary

// What is remembered of an adaptation until its end: the figures of its summary, and whether it collapsed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tributary/adapt/collapse.h"
#include "tributary/methods/observer.h"

namespace tributary {

class RunRecord : public Observer {
 public:
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;

  // The last round, without its features.
  const RoundEvent& last() const { return last_; }
  // How the sources were put together before any training.
  const Mixture& first_mixture() const { return first_mixture_; }
  // Adds pictures, rounds, what was confident, the sources with their weights, seconds and label-free scores.
  void add_to(nlohmann::json& summary) const;
  // Why the adaptation is suspected to have made things worse; empty where it is not.
  std::vector<std::string> signs_of_collapse() const;

 private:
  LabelFreeScores scores() const;
  double changed_share() const;

  RoundEvent last_;
  Mixture first_mixture_;
  LabelFreeScores first_scores_;
  std::vector<int64_t> first_labels_;  // a picture each
  std::vector<int64_t> confident_;     // pictures, round 0 first
  double seconds_ = 0;
  PhaseSeconds phases_;
};

}  // namespace tributary

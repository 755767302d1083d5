// Observers of an adaptation: terminal output, metrics log, TensorBoard curves and accuracy.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tributary/artefacts/event_file.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/data/image_set.h"
#include "tributary/methods/observer.h"
#include "tributary/run/kept_round.h"
#include "tributary/run/round_scores.h"
#include "tributary/run/round_table.h"
#include "tributary/terminal/progress.h"
#include "tributary/train/device_images.h"

namespace tributary {

class AccuracyObserver;

// Shows a table of the rounds, and below it a progress bar with a sparkline of the confident set.
class ProgressObserver : public Observer {
 public:
  // `accuracy`, if not null, must observe a round before this observer; the table then has its column.
  explicit ProgressObserver(Progress& progress, const AccuracyObserver* accuracy = nullptr)
      : progress_(progress), accuracy_(accuracy) {}
  void on_step(const StepEvent& event) override;
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;

 private:
  Progress& progress_;
  const AccuracyObserver* accuracy_;
  RoundTable table_;
  std::vector<double> confident_;  // pictures, round 0 first; empty if the method selects none
  std::string facts_;
};

// The metrics of a round that need no labels, as one object.
nlohmann::json round_metrics(const RoundEvent& event);

class MetricsObserver : public Observer {
 public:
  // On a GPU the metrics also hold the peak memory of this process. `kept`, if not null, must observe a round before
  // this observer; its witness figures are logged. So must `scores`, if not null: the ranking scores are then its own.
  explicit MetricsObserver(RunFolder& folder, torch::Device device = torch::kCPU, const KeptRound* kept = nullptr,
                           const RoundScores* scores = nullptr)
      : folder_(folder), device_(device), kept_(kept), shared_scores_(scores) {}
  void on_round(const RoundEvent& event) override;

 private:
  RunFolder& folder_;
  torch::Device device_;
  const KeptRound* kept_;
  const RoundScores* shared_scores_;
  RoundScores own_scores_;
};

// Records the accuracy on a labelled set, which the method never sees. The accuracy of the last round is the result.
// The best one is chosen with labels; it only shows what early stopping could gain.
class AccuracyObserver : public Observer {
 public:
  AccuracyObserver(const LabelledImages& test, torch::Device device);
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;

  // Throws an InputError if the restored state is not of such a run.
  void require_fit(const RunShape& shape) const;
  double last() const { return rounds_.back(); }
  double oracle_best() const;
  const std::vector<double>& rounds() const { return rounds_; }  // round 0 first

 private:
  DeviceImages images_;
  Tensor label_;
  std::vector<double> rounds_;
};

// Writes the metrics of every round as TensorBoard scalars (round_scalars.h), and the accuracy in percent as
// "accuracy". The step of a scalar is its round.
class TensorBoardObserver : public Observer {
 public:
  using Clock = std::function<double()>;  // seconds since 1970

  // Starts an event file in `folder`, which must exist. `accuracy`, if not null, must observe a round before this
  // observer. `clock` is for tests; null means the system clock.
  explicit TensorBoardObserver(const std::string& folder, const AccuracyObserver* accuracy = nullptr,
                               Clock clock = nullptr);
  void on_round(const RoundEvent& event) override;
  // Writes the terms of a round's bound, an object of bound_log (report_data.h), as scalars "bound/...".
  void add_bound(const nlohmann::json& terms);

 private:
  Clock clock_;
  EventFile file_;
  const AccuracyObserver* accuracy_;
};

// Picks a round without labels: the one with the lowest information loss (Eq. 12) of the mixture on the target set,
// that is with certain and diverse predictions.
class LabelFreePick : public Observer {
 public:
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;
  // Throws an InputError if the restored state is not of such a run.
  void require_fit(const RunShape& shape) const;
  int64_t round() const;

 private:
  std::vector<double> losses_;
};

}  // namespace tributary

// Listeners to an adaptation: what the terminal shows, the metrics log, curves, and accuracy for those who have labels.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tributary/artefacts/event_file.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/data/image_set.h"
#include "tributary/methods/observer.h"
#include "tributary/run/round_table.h"
#include "tributary/terminal/progress.h"
#include "tributary/train/device_images.h"

namespace tributary {

// Shows the rounds as a table that grows, and below it a bar with a sparkline of the confident set.
class ProgressObserver : public Observer {
 public:
  explicit ProgressObserver(Progress& progress) : progress_(progress) {}
  void on_step(const StepEvent& event) override;
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;

 private:
  Progress& progress_;
  RoundTable table_;
  std::vector<double> confident_;  // pictures, round 0 first; empty where the method selects none
  std::string facts_;
};

// The label-free facts of a round as one object.
nlohmann::json round_metrics(const RoundEvent& event);

class MetricsObserver : public Observer {
 public:
  explicit MetricsObserver(RunFolder& folder) : folder_(folder) {}
  void on_round(const RoundEvent& event) override;

 private:
  RunFolder& folder_;
};

// Follows the accuracy on a labelled set, which the method never sees. The last round's is the result; the best one is
// picked with labels and only says what better stopping could give.
class AccuracyObserver : public Observer {
 public:
  AccuracyObserver(const LabelledImages& test, torch::Device device);
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;

  double last() const { return rounds_.back(); }
  double oracle_best() const;
  const std::vector<double>& rounds() const { return rounds_; }  // round 0 first

 private:
  DeviceImages images_;
  Tensor label_;
  std::vector<double> rounds_;
};

// Writes what the metrics log says of a round as curves for TensorBoard (round_scalars.h), and the accuracy in percent
// as "accuracy". The steps are the rounds.
class TensorBoardObserver : public Observer {
 public:
  using Clock = std::function<double()>;  // seconds since 1970

  // Begins an event file in `folder`, which must exist. `accuracy`, if there is one, must hear of a round before this
  // observer does. `clock` is for tests; none means the machine's.
  explicit TensorBoardObserver(const std::string& folder, const AccuracyObserver* accuracy = nullptr,
                               Clock clock = nullptr);
  void on_round(const RoundEvent& event) override;
  // The terms of a round's bound, an object of bound_log (report_data.h), as curves of the group "bound".
  void add_bound(const nlohmann::json& terms);

 private:
  Clock clock_;
  EventFile file_;
  const AccuracyObserver* accuracy_;
};

// Picks a round without labels: the one whose mixture is most certain about every picture and most diverse about all of
// them, that is of the least information loss (Eq. 12) on the target set.
class LabelFreePick : public Observer {
 public:
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override;
  void restore(const nlohmann::json& state) override;
  int64_t round() const;

 private:
  std::vector<double> losses_;
};

}  // namespace tributary

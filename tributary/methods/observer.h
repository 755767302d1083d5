// Events of an adaptation, for the progress bar, the metrics log, evaluation and the report.
//
// Events carry only what the method knows. Observers may have labels to compare with; the method has none.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tributary/adapt/selection.h"
#include "tributary/comm/row_block.h"
#include "tributary/model/ensemble.h"

namespace tributary {

struct StepEvent {
  int64_t round = 0, rounds = 0;  // round 0: a student learns the labels of the other members
  int64_t step = 0, steps = 0;
};

// The mean of every loss over the steps of one round.
struct MeanLosses {
  std::vector<double> cross_entropy;  // per source
  std::vector<double> information;
  double adversarial = 0;
  double discriminator = 0;
  bool aligned = false;  // whether there were enough unconfident samples for the two losses above
};

// Where the time of a round went.
struct PhaseSeconds {
  double training = 0;
  double evaluation = 0;  // the pass over the target set
  double weights = 0;     // domain weights
  double labels = 0;      // prototypes and scores
  double waiting = 0;     // part of the first two: waiting for pictures to be read
};

struct RoundFigures;

// The state after a round; round 0 is the state before any training.
struct RoundEvent {
  int64_t round = 0, rounds = 0;
  std::map<std::string, std::vector<double>> means;  // of losses, per source or one for all
  double seconds = 0;                                // since the last event of this kind
  PhaseSeconds phases;                               // of these
  int64_t pictures = 0;                              // passed through sources in training
  Ensemble* ensemble = nullptr;                      // the current models, mixture included
  RowBlock rows;                                     // which of the n rows the tensors below have
  std::vector<Tensor> features;                      // [n, d_j] of the target set, per source (adapt/feature_rows.h)
  Tensor logits;                                     // [m, n, K], of all members of the ensemble
  Tensor probabilities;                              // [n, K], the mixture of the sources
  Tensor weights;                                    // [m], raw, of all members; undefined if the method has none
  // Selective self-training alone.
  const Selection* trained = nullptr;  // what this round trained on; null in round 0
  MeanLosses losses;
  bool alignment = true;                        // whether the method aligns unconfident samples at all
  int64_t initial_confident = 0;                // N_0
  Tensor score;                                 // [n, K], denoised
  std::shared_ptr<const RoundFigures> figures;  // methods/round_figures.h; null if they are still to be computed
  double largest_share = 0;                     // of a pseudo-class of the unadapted sources; 0 if it was not measured
  std::string finished;                         // why the method trains no further round; empty if it does
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepEvent&) {}
  virtual void on_round(const RoundEvent&) {}
  // Saves and restores what it needs to resume an interrupted run, under its own keys.
  virtual void save(nlohmann::json&) const {}
  virtual void restore(const nlohmann::json&) {}
  // Large parts of that state. A later round must replace these tensors instead of changing them in place.
  // restore_tensors() follows restore() and gets the tensors of all observers.
  virtual NamedTensors tensors() const { return {}; }
  virtual void restore_tensors(const NamedTensors&) {}
  // Whether no further round should be trained. The answer of the first rank counts.
  virtual bool wants_stop() const { return false; }
};

// Forwards every event to all observers, in order.
class Observers : public Observer {
 public:
  explicit Observers(std::vector<Observer*> listeners) : listeners_(std::move(listeners)) {}
  void on_step(const StepEvent& event) override {
    for (Observer* listener : listeners_) listener->on_step(event);
  }
  void on_round(const RoundEvent& event) override {
    for (Observer* listener : listeners_) listener->on_round(event);
  }
  void save(nlohmann::json& state) const override {
    for (const Observer* listener : listeners_) listener->save(state);
  }
  void restore(const nlohmann::json& state) override {
    for (Observer* listener : listeners_) listener->restore(state);
  }
  NamedTensors tensors() const override {
    NamedTensors all;
    for (const Observer* listener : listeners_)
      for (NamedTensor tensor : listener->tensors()) all.push_back(std::move(tensor));
    return all;
  }
  void restore_tensors(const NamedTensors& tensors) override {
    for (Observer* listener : listeners_) listener->restore_tensors(tensors);
  }
  bool wants_stop() const override {
    for (const Observer* listener : listeners_)
      if (listener->wants_stop()) return true;
    return false;
  }

 private:
  std::vector<Observer*> listeners_;
};

}  // namespace tributary

// How good the result of an adaptation probably is: an estimate of its accuracy, a verdict, one calibrated confidence
// and the pictures to check, all without target labels (docs/method.md, Estimate of the accuracy).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tributary/adapt/witness.h"
#include "tributary/base/options.h"
#include "tributary/checkpoint/state_checks.h"
#include "tributary/estimate/verdict.h"
#include "tributary/methods/observer.h"
#include "tributary/run/result_rows.h"

namespace tributary {

enum class EstimateKind {
  kQuick,  // from what the run has
  kFull,   // adapts again without each source
};

struct EstimateOptions {
  EstimateKind kind = EstimateKind::kQuick;
  double required = 0.8;       // accuracy below which the verdict is "check"
  double accept_error = 0.02;  // share of errors among the pictures that need no check
  // Sources that were adapted together agree by construction: there is no estimate, and no round is judged by them.
  bool adapted_sources = false;
};
// In the section [adapt].
void declare(OptionTable& table, EstimateOptions& options);

// Remembers how confident the unadapted sources are: where they reach the thresholds of their files, and their mean.
class ConfidenceRecord : public Observer {
 public:
  void on_round(const RoundEvent& event) override;
  NamedTensors tensors() const override;
  void restore_tensors(const NamedTensors& tensors) override;
  // Throws an InputError if the restored state is not of such a run.
  void require_fit(const RunShape& shape) const;
  // As in Witnesses.
  std::vector<Tensor> is_confident() const;
  // As in MixtureLabels.
  const Tensor& confidence() const { return confidence_; }

 private:
  Tensor confidence_;
  Tensor reached_;  // int64 [m, n]: 1 or 0, and -1 in the rows of sources without a threshold
};

// The result of a run, for its estimate.
struct ResultToJudge {
  const WitnessRule* witnesses = nullptr;
  std::vector<Tensor> is_confident = {};   // as in Witnesses
  Tensor first_label = {};                 // int64 [n], of the mixture before any training
  Tensor first_confidence = {};            // float [n], as in MixtureLabels
  const ResultRows* rows = nullptr;        // what the adapted sources and their mixture predict
  ResultRows::Columns columns = {};        // of `rows`, at temperature 1
  Tensor known = {};                       // bool [m, K], of the witnesses: Ensemble::known
  Tensor left_out = {};                    // int64 [m, n]: row j from an adaptation without source j; or undefined
  std::vector<std::string> collapse = {};  // signs of it
  bool adapted = true;                     // whether the result is a trained round
};

struct ResultEstimate {
  std::string how;  // "agreement" or "left-out sources"
  std::vector<double> source_accuracies;
  Evidence evidence_before, evidence_after;
  std::optional<AccuracyEstimate> witness;  // of the left-out labels, or of the other adapted sources (spread included)
  std::optional<AccuracyEstimate> before, after;
  Verdict verdict;
  double temperature = 1;       // of the mixture; 1 without an estimate
  PredictedLabels predictions;  // at the temperature
  double check_below = 0;       // the confidence below which pictures must be looked at
};

ResultEstimate estimate_result(const ResultToJudge& result, const EstimateOptions& options);

// Adds "estimate", "verdict" and "confidence" to the summary, in percent. `truth`, int64 [n], may be undefined; with it
// the calibration error before and after the temperature is added.
void add_estimate(nlohmann::json& summary, const ResultEstimate& estimate, const ResultToJudge& result,
                  const EstimateOptions& options, const std::vector<std::string>& classes, const Tensor& truth);

}  // namespace tributary

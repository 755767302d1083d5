#include "tributary/run/result_estimate.h"

#include <algorithm>
#include <cmath>

#include "tributary/adapt/agreement.h"
#include "tributary/base/error.h"
#include "tributary/estimate/acceptance.h"
#include "tributary/estimate/calibration_error.h"
#include "tributary/estimate/confidence_threshold.h"
#include "tributary/model/mixture.h"

namespace tributary {
namespace {

constexpr const char* kReached = "estimate.reached";
constexpr const char* kConfidence = "estimate.confidence";

// The model error of the witness estimate: a margin for errors that sources share, not measured.
constexpr double kErrorOfLeftOut = 0.12;

// The mean of two estimates, with the mean of their half-widths and at least half their distance.
AccuracyEstimate mean_of(const AccuracyEstimate& one, const AccuracyEstimate& other) {
  AccuracyEstimate mean = one;
  mean.accuracy = (one.accuracy + other.accuracy) / 2;
  mean.spread = std::max(one.spread, std::abs(one.accuracy - other.accuracy) / 2);
  mean.half = std::max((one.half + other.half) / 2, mean.spread);
  mean.interval = {std::max(0.0, mean.accuracy - mean.half), std::min(1.0, mean.accuracy + mean.half)};
  return mean;
}

double percent_of(double share) {
  return std::round(10000 * share) / 100;
}

nlohmann::json to_json(const std::optional<AccuracyEstimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"accuracy", percent_of(estimate->accuracy)},
          {"low", percent_of(estimate->interval.low)},
          {"high", percent_of(estimate->interval.high)},
          {"half", percent_of(estimate->half)},
          {"sampling_error", percent_of(estimate->sampling_error)},
          {"spread", percent_of(estimate->spread)}};
}

nlohmann::json to_json(const Evidence& evidence) {
  const auto& confident = evidence.confident_sources;
  return {{"sources", evidence.with_sources},
          {"members", evidence.with_members},
          {"evenness", evidence.evenness},
          {"confidence", evidence.mean_confidence},
          {"confident_sources", confident ? nlohmann::json(*confident) : nlohmann::json()}};
}

// Of the plain mean of the sources' probabilities, float [n] on the host.
Tensor plain_confidence(const Tensor& logits) {
  return std::get<0>(logits.to(torch::kFloat32).softmax(-1).mean(0).max(-1)).cpu();
}

nlohmann::json class_rows(const AccuracyEstimate& estimate, const Tensor& label,
                          const std::vector<std::string>& classes) {
  const Tensor counts = at::bincount(label, {}, static_cast<int64_t>(classes.size()));
  nlohmann::json rows = nlohmann::json::array();
  for (size_t k = 0; k < classes.size(); ++k) {
    const double share = estimate.by_class[k];
    rows.push_back({{"class", classes[k]},
                    {"pictures", counts[static_cast<int64_t>(k)].item<int64_t>()},
                    {"right", std::isnan(share) ? nlohmann::json() : nlohmann::json(percent_of(share))}});
  }
  return rows;
}

// Classes that are predicted for less than a tenth of a fair share.
int64_t rare_classes(const Tensor& label, int64_t classes) {
  const Tensor counts = at::bincount(label, {}, classes);
  return (counts.to(torch::kFloat64) * 10 * classes < label.size(0)).sum().item<int64_t>();
}

}  // namespace

void declare(OptionTable& table, EstimateOptions& options) {
  table.choice("adapt", "estimate", &options.kind, {{"quick", EstimateKind::kQuick}, {"full", EstimateKind::kFull}},
               "how the accuracy is estimated without labels: from this run, or by adapting again without each source");
  table.number("adapt", "require", &options.required, 0, 1,
               "accuracy below which the verdict says to check the result");
  table.number("adapt", "accept_error", &options.accept_error, 0, 1,
               "expected share of errors among the pictures that predictions.csv does not mark for a check");
  table.flag(
      "adapt", "adapted_sources", &options.adapted_sources,
      "the sources were adapted together before, as for tributary continue: their agreement does not estimate the "
      "accuracy and rejects no round");
}

void ConfidenceRecord::on_round(const RoundEvent& event) {
  if (event.round > 0) return;
  torch::NoGradGuard no_grad;
  const Ensemble& ensemble = *event.ensemble;
  const Tensor logits = ensemble.without_student(event.logits);
  confidence_ = event.rows.gather(plain_confidence(logits));
  reached_ = torch::full({logits.size(0), logits.size(1)}, -1, torch::kInt64);
  const Tensor own = own_logits(logits, ensemble.without_student(ensemble.known()));
  for (int64_t j = 0; j < ensemble.size() - (ensemble.has_student ? 1 : 0); ++j) {
    const auto& calibration = ensemble.sources[static_cast<size_t>(j)].info().calibration;
    if (!calibration) continue;
    const ConfidenceScores scores = confidence_scores(own[j], calibration->temperature);
    reached_[j] = (scores.confidence >= calibration->threshold_confidence).to(torch::kInt64);
  }
  reached_ = event.rows.gather(reached_, 1);
}

NamedTensors ConfidenceRecord::tensors() const {
  if (!reached_.defined()) return {};
  return {{kReached, reached_}, {kConfidence, confidence_}};
}

void ConfidenceRecord::restore_tensors(const NamedTensors& tensors) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == kReached) reached_ = tensor.value;
    if (tensor.name == kConfidence) confidence_ = tensor.value;
  }
}

void ConfidenceRecord::require_fit(const RunShape& shape) const {
  require_in_checkpoint(reached_.defined() && confidence_.defined(), kReached);
  require_numbers(confidence_, {shape.pictures}, kConfidence);
  require_integers(reached_, {shape.witnesses, shape.pictures}, -1, 2, kReached);
}

std::vector<Tensor> ConfidenceRecord::is_confident() const {
  std::vector<Tensor> rows;
  for (int64_t j = 0; j < reached_.size(0); ++j)
    rows.push_back(reached_[j][0].item<int64_t>() < 0 ? Tensor() : reached_[j] == 1);
  return rows;
}

ResultEstimate estimate_result(const ResultToJudge& result, const EstimateOptions& options) {
  torch::NoGradGuard no_grad;
  const WitnessRule& rule = *result.witnesses;
  const Witnesses witnesses{rule.labels(), result.is_confident, rule.classes(), result.known};
  const Tensor& label = result.columns.label;
  ResultEstimate estimate;
  const MixtureLabels before{result.first_label, rule.labels(), result.first_confidence};
  const MixtureLabels after{label, result.columns.votes, result.columns.plain_confidence};
  estimate.how = "agreement";
  if (rule.labels().size(0) > 1 && !options.adapted_sources) {
    estimate.source_accuracies = witness_accuracies(witnesses);
    estimate.evidence_before = evidence_of(witnesses, before);
    estimate.evidence_after = evidence_of(witnesses, after);
    estimate.before = estimate_from_evidence(witnesses, before);
    estimate.after = estimate_from_evidence(witnesses, after);
    const bool full = result.adapted && result.left_out.defined();
    estimate.witness = estimate_accuracy(witnesses,
                                         full             ? result.left_out
                                         : result.adapted ? result.columns.others
                                                          : rule.others(),
                                         kErrorOfLeftOut);
    if (full && estimate.witness && estimate.after) {
      estimate.how = "left-out sources";
      estimate.after = mean_of(*estimate.after, *estimate.witness);
      // By the same estimator, since the verdict compares the two.
      if (const auto witness = estimate_accuracy(witnesses, rule.others(), kErrorOfLeftOut))
        estimate.before = mean_of(*estimate.before, *witness);
    }
    if (estimate.after && estimate.witness) estimate.after->by_class = estimate.witness->by_class;
  }
  VerdictFacts facts;
  facts.adapted_before = options.adapted_sources;
  facts.collapse = result.collapse;
  facts.before = estimate.before;
  facts.after = estimate.after;
  facts.adapted = result.adapted;
  facts.contradicts_sources = result.adapted && !options.adapted_sources && rule.judge(label).rejected;
  facts.sources = rule.labels().size(0);
  facts.pictures = label.size(0);
  facts.rare_classes = rare_classes(label, rule.classes());
  facts.required = options.required;
  estimate.verdict = verdict_of(facts);
  if (estimate.after) estimate.temperature = result.rows->temperature_for(estimate.after->accuracy);
  estimate.predictions = result.rows->predictions(estimate.temperature);
  const Tensor& confidence = estimate.predictions.confidence;
  // A confidence that nothing calibrates accepts no picture.
  estimate.check_below = estimate.after ? check_threshold(confidence, options.accept_error) : kAcceptNone;
  estimate.predictions.check = below_threshold(confidence, estimate.check_below);
  return estimate;
}

void add_estimate(nlohmann::json& summary, const ResultEstimate& estimate, const ResultToJudge& result,
                  const EstimateOptions& options, const std::vector<std::string>& classes, const Tensor& truth) {
  const Tensor& label = result.columns.label;
  nlohmann::json& figures = summary["estimate"];
  figures = {{"how", estimate.how},
             {"level", 90},
             {"before", to_json(estimate.before)},
             {"after", to_json(estimate.after)},
             {"witness", to_json(estimate.witness)},
             {"evidence", {{"before", to_json(estimate.evidence_before)}, {"after", to_json(estimate.evidence_after)}}},
             {"sources", nlohmann::json::array()},
             {"classes", nlohmann::json::array()}};
  for (const double accuracy : estimate.source_accuracies) figures["sources"].push_back(percent_of(accuracy));
  if (estimate.after && !estimate.after->by_class.empty())
    figures["classes"] = class_rows(*estimate.after, label, classes);
  const auto check = estimate.predictions.check.sum().item<int64_t>();
  summary["verdict"] = {{"decision", name_of(estimate.verdict.decision)}, {"reasons", estimate.verdict.reasons}};
  summary["confidence"] = {
      {"temperature", estimate.temperature},
      {"mean", percent_of(estimate.predictions.confidence.to(torch::kFloat64).mean().item<double>())},
      {"calibrated", estimate.after.has_value()},
      {"accept_error", percent_of(options.accept_error)},
      {"check_below", estimate.check_below},
      {"check", check},
      {"accepted", label.size(0) - check}};
  if (!truth.defined()) return;
  const Tensor right = label == truth;
  const auto error_of = [&](const Tensor& confidence) { return expected_calibration_error(confidence, right); };
  nlohmann::json& confidence = summary["confidence"];
  confidence["calibration_error"] = {{"before", error_of(result.columns.confidence)},
                                     {"after", error_of(estimate.predictions.confidence)}};
  confidence["accuracy"] = percent_of(right.to(torch::kFloat64).mean().item<double>());
  if (check < label.size(0))
    confidence["accepted_errors"] = percent_of(right.masked_select(estimate.predictions.check.logical_not())
                                                   .logical_not()
                                                   .to(torch::kFloat64)
                                                   .mean()
                                                   .item<double>());
}

}  // namespace tributary

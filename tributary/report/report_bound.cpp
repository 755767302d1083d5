// "bound" of the report: the terms of the bound per round.
#include <nlohmann/json.hpp>

#include "tributary/base/text.h"
#include "tributary/bound/bound.h"
#include "tributary/report/report_data.h"

namespace tributary {
namespace {

// Pictures for the estimate of the misalignment; more take longer and hardly change it.
constexpr int64_t kMaxPictures = 5000;

// The terms after round `index`, from its features and the labels of the previous round, on which it was trained. Empty
// if the method has no confident set or no pseudo-labels.
std::optional<BoundTerms> terms_of(const ReportParts& parts, size_t index, const Tensor& pictures,
                                   const BoundSetting& setting) {
  const RoundHistory& round = parts.history.rounds[index];
  if (index == 0 || !round.confident.defined()) return {};
  const RoundHistory& before = parts.history.rounds[index - 1];
  if (!before.pseudo_label.defined()) return {};
  const Tensor rows = feature_rows(round, pictures);
  BoundInputs inputs;
  inputs.joint = round.features.index_select(0, rows);
  for (const Tensor& features : round.source_features) inputs.sources.push_back(features.index_select(0, rows));
  inputs.mixture = before.label.index_select(0, pictures);
  inputs.label = before.pseudo_label.index_select(0, pictures);
  inputs.source_label = before.source_label.index_select(1, pictures);
  inputs.confident = round.confident.index_select(0, pictures);
  inputs.confident_total = round.confident.sum().item<int64_t>();
  if (parts.truth.defined()) inputs.truth = parts.truth.index_select(0, pictures);
  if (!inputs.confident.any().item<bool>()) return {};
  return bound_terms(inputs, setting);
}

nlohmann::json or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json entry_of(const BoundTerms& terms, const BoundSetting& setting) {
  return {{"mismatch", terms.mismatch},
          {"mismatch_exact", or_null(terms.mismatch_exact)},
          {"misalignment", or_null(terms.misalignment)},
          {"misalignment_error", terms.misalignment ? nlohmann::json(terms.misalignment_error) : nlohmann::json()},
          {"misalignment_sources", or_null(terms.misalignment_sources)},
          {"misalignment_cap", terms.misalignment_cap},
          {"bias", terms.bias},
          {"variance", terms.variance},
          {"sum", terms.sum},
          {"sum_exact", or_null(terms.sum_exact)},
          {"loss_bound", setting.loss_bound},
          {"source_disagreement", terms.source_disagreement},
          {"criteria_disagreement", terms.criteria_disagreement},
          {"label_error", or_null(terms.label_error)}};
}

std::vector<std::string> notes_of(const ReportParts& parts, int64_t pictures, const BoundSetting& setting) {
  const RoundHistory& round = parts.history.rounds.back();
  std::vector<std::string> notes = setting.notes();
  notes.push_back(fmt::format(
      "Estimated from {} of {} pictures: the features after a round in {} principal components of the joint space{}, "
      "and "
      "the labels that the round was trained on.",
      thousands(pictures), thousands(round.label.size(0)), round.features.size(1),
      round.source_features.empty() ? "" : fmt::format(" and {} per source", round.source_features.front().size(1))));
  return notes;
}

}  // namespace

ReportBound report_bound(const ReportParts& parts) {
  const History& history = parts.history;
  BoundSetting setting;
  setting.classes = static_cast<int64_t>(history.classes.size());
  setting.width = history.joint_width;
  ReportBound bound;
  bound.rounds.resize(history.rounds.size());
  if (setting.classes < 2 || setting.width < 1) return bound;
  const Tensor& sample = history.rounds.front().sample;
  const Tensor pictures = sample.index_select(0, evenly_spread(sample.size(0), kMaxPictures));
  for (size_t i = 0; i < history.rounds.size(); ++i) {
    const std::optional<BoundTerms> terms = terms_of(parts, i, pictures, setting);
    if (!terms) continue;
    bound.rounds[i] = entry_of(*terms, setting);
    if (bound.notes.empty()) bound.notes = notes_of(parts, pictures.size(0), setting);
  }
  return bound;
}

std::vector<nlohmann::json> bound_log(const nlohmann::json& data) {
  std::vector<nlohmann::json> log;
  for (const nlohmann::json& round : data.at("rounds")) {
    if (round.at("bound").is_null()) continue;
    nlohmann::json entry = round.at("bound");
    entry["round"] = round.at("round");
    if (!round.at("accuracy").is_null()) entry["error"] = 1 - round.at("accuracy").at("mixture").get<double>();
    log.push_back(entry);
  }
  return log;
}

}  // namespace tributary

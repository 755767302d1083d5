#include "tributary/run/kept_round.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tributary/adapt/agreement.h"
#include "tributary/base/error.h"
#include "tributary/estimate/accuracy_estimate.h"

namespace tributary {
namespace {

constexpr const char* kPrefix = "kept.";
constexpr const char* kModels = "kept.model.";

// Losses of estimated accuracy that do not reject a round: against round 0, and against the best round after it.
constexpr double kLossFromFirst = 0.03, kLossFromBest = 0.05;

std::string points(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

Tensor on_host(const Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true).contiguous()
                          : Tensor();
}

NamedTensors copies_on_host(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const NamedTensor& tensor : tensors) copies.push_back({tensor.name, on_host(tensor.value)});
  return copies;
}

// Undefined if there is none of that name.
Tensor find(const NamedTensors& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& t) { return t.name == name; });
  return found == tensors.end() ? Tensor() : found->value;
}

nlohmann::json scores_json(const LabelFreeScores& scores) {
  return {scores.classes, scores.entropy, scores.marginal_entropy, scores.trust};
}

LabelFreeScores scores_from(const nlohmann::json& saved) {
  return {saved.at(0), saved.at(1), saved.at(2), saved.at(3)};
}

nlohmann::json number_or_null(const std::optional<double>& share) {
  return share ? nlohmann::json(*share) : nlohmann::json();
}

std::optional<double> share_from(const nlohmann::json& saved) {
  return saved.is_null() ? std::nullopt : std::optional(saved.get<double>());
}

// The median over the witnesses of the accuracy that the agreement with each implies; null where none can tell.
nlohmann::json estimated_accuracy(const WitnessRule& witnesses, const Tensor& label, int64_t classes) {
  constexpr double kLeastMargin = 0.2;
  if (witnesses.labels().size(0) < 2) return nullptr;
  const std::vector<double> accuracies = accuracies_from_agreement(witnesses.labels(), classes);
  std::vector<double> estimates;
  for (size_t j = 0; j < accuracies.size(); ++j) {
    const double a = accuracies[j], e = (1 - a) / static_cast<double>(classes - 1);
    if (a - e <= kLeastMargin) continue;
    const double q = agreement(witnesses.labels()[static_cast<int64_t>(j)], label);
    estimates.push_back(std::clamp(accuracy_from_witness(q, a, classes), 1 / static_cast<double>(classes), 1.0));
  }
  if (estimates.empty()) return nullptr;
  std::sort(estimates.begin(), estimates.end());
  const size_t half = estimates.size() / 2;
  return estimates.size() % 2 == 1 ? estimates[half] : (estimates[half - 1] + estimates[half]) / 2;
}

}  // namespace

void KeptRound::on_round(const RoundEvent& event) {
  torch::NoGradGuard no_grad;
  const Ensemble& ensemble = *event.ensemble;
  const int64_t classes = event.probabilities.size(1), sources = ensemble.members() - (ensemble.has_student ? 1 : 0);
  const RoundFigures figures = figures_of(event);
  const Tensor& label = figures.label;
  const LabelFreeScores& scores = figures.scores;
  if (event.round == 0) {
    witnesses_ = WitnessRule(figures.witness, figures.others, classes);
    first_label_ = label;
    first_scores_ = scores;
  }
  const std::optional<double> estimate =
      ensemble.known().defined() ? std::nullopt : estimate_of(figures, event.round > 0);
  if (event.round == 0) first_estimate_ = estimate;
  rounds_ = event.rounds;
  finished_ = event.finished;
  WitnessVerdict verdict = witnesses_.judge(label);
  verdict.rejected = verdict.rejected && judges();
  signs_ = tributary::signs_of_collapse(first_scores_, scores, sources);
  const double doubtful = adapted_sources_ ? 1 : witnesses_.doubtful_share();
  if (auto drift = sign_of_drift(first_label_, label, classes, doubtful)) signs_.push_back(*drift);
  std::vector<std::string> reasons = signs_;
  if (verdict.rejected)
    reasons.insert(reasons.begin(), fmt::format("it agrees with the unadapted sources on {} of the pictures, and they "
                                                "agree among themselves on {}",
                                                points(verdict.agreement), points(verdict.bar)));
  if (estimate && event.round > 0) {
    if (auto loss = loss_in(*estimate)) reasons.push_back(*loss);
    best_estimate_ = std::max(*estimate, best_estimate_.value_or(*estimate));
  }
  if (event.round == 0) reasons.clear();  // the unadapted mixture is what remains
  witness_metrics_ = {
      {"agreement", verdict.agreement},
      {"bar", verdict.bar},
      {"standard_error", verdict.standard_error},
      {"kappa", witnesses_.kappa()},
      {"doubtful_share", doubtful},
      {"histogram_distance", histogram_distance(first_label_, label, classes)},
      {"estimated_accuracy", adapted_sources_ ? nlohmann::json() : estimated_accuracy(witnesses_, label, classes)},
      {"accuracy_from_evidence", number_or_null(estimate)},
      {"rejected", !reasons.empty()}};
  count_settled(event, figures.pseudo_label.defined() ? figures.pseudo_label : figures.label);
  if (rule_ == KeepRule::kLabelFree && reasons.empty()) {
    candidate_.round = event.round;
    candidate_.models = copies_on_host(event.ensemble->state());
    candidate_.mixture = event.ensemble->mixture;
    candidate_.mixture.weights = on_host(event.ensemble->mixture.weights);
    candidate_.weights = on_host(event.weights);
    candidate_.predictions = {figures.label, figures.confidence, figures.source_label};
    candidate_.scores = scores;
  }
  reasons_.push_back(std::move(reasons));
}

std::optional<double> KeptRound::estimate_of(const RoundFigures& figures, bool adapted) const {
  const int64_t sources = witnesses_.labels().size(0);
  if (adapted_sources_ || sources < WitnessRule::kLeastSources) return std::nullopt;
  const Tensor members = adapted ? figures.source_label.narrow(0, 0, sources) : witnesses_.labels();
  return accuracy_from_evidence({witnesses_.labels(), {}, witnesses_.classes()},
                                {figures.label, members, figures.confidence});
}

std::optional<std::string> KeptRound::loss_in(double estimate) const {
  if (first_estimate_ && estimate < *first_estimate_ - kLossFromFirst)
    return fmt::format("its estimated accuracy is {}, that of the unadapted mixture {}", points(estimate),
                       points(*first_estimate_));
  if (best_estimate_ && estimate < *best_estimate_ - kLossFromBest)
    return fmt::format("its estimated accuracy is {}, that of an earlier round {}", points(estimate),
                       points(*best_estimate_));
  return std::nullopt;
}

void KeptRound::count_settled(const RoundEvent& event, const Tensor& label) {
  const bool covers = event.trained && event.trained->confident.size(0) == label.size(0);
  const bool same = previous_label_.defined() && torch::equal(previous_label_, label);
  settled_ = covers && same ? settled_ + 1 : 0;
  previous_label_ = label;
}

bool KeptRound::wants_stop() const {
  return !stop_reason().empty();
}

std::string KeptRound::stop_reason() const {
  constexpr int64_t kInARow = 2;
  if (!finished_.empty()) return finished_;
  if (rule_ != KeepRule::kLabelFree) return "";
  const int64_t last = last_round();
  if (last >= kInARow && !reasons_[static_cast<size_t>(last)].empty() &&
      !reasons_[static_cast<size_t>(last) - 1].empty())
    return "the last two rounds were rejected";
  if (settled_ >= kInARow) return "no pseudo-label changed in two rounds, and all pictures were confident";
  return "";
}

std::vector<int64_t> KeptRound::rejected() const {
  std::vector<int64_t> rounds;
  for (size_t round = 0; round < reasons_.size(); ++round)
    if (!reasons_[round].empty()) rounds.push_back(static_cast<int64_t>(round));
  return rounds;
}

int64_t KeptRound::round() const {
  return rule_ == KeepRule::kLast ? last_round() : candidate_.round;
}

void KeptRound::hand_back(Ensemble& ensemble) const {
  torch::NoGradGuard no_grad;
  const NamedTensors state = ensemble.state();
  TRIBUTARY_CHECK(state.size() == candidate_.models.size(), "the kept round has {} tensors for {}",
                  candidate_.models.size(), state.size());
  // By name: a checkpoint does not preserve the order.
  for (const NamedTensor& tensor : state) {
    const Tensor kept = find(candidate_.models, tensor.name);
    TRIBUTARY_CHECK(kept.defined(), "the kept round has no {}", tensor.name);
    Tensor(tensor.value).copy_(kept);
  }
  ensemble.mixture = candidate_.mixture;
}

std::string KeptRound::reason() const {
  if (!is_last()) return fmt::format("round {} was rejected: {}", last_round(), fmt::join(reasons_.back(), "; "));
  if (adapted_sources_)
    return "the last round has no sign of collapse; sources that were adapted together before cannot judge it";
  if (!judges())
    return "the last round has no sign of collapse; the unadapted sources are too few, or agree too little, to judge "
           "it";
  return "the last round has no sign of collapse and agrees with the unadapted sources";
}

nlohmann::json KeptRound::to_json() const {
  if (rule_ != KeepRule::kLabelFree) return nullptr;
  return {
      {"round", round()}, {"rule", "label-free"}, {"reason", reason()}, {"judged", judges()}, {"rejected", rejected()}};
}

nlohmann::json KeptRound::stop_json() const {
  if (last_round() >= rounds_ || !wants_stop()) return nullptr;
  return {{"round", last_round()}, {"reason", stop_reason()}};
}

void KeptRound::save(nlohmann::json& state) const {
  state["kept"] = {{"reasons", reasons_},
                   {"settled", settled_},
                   {"first_scores", scores_json(first_scores_)},
                   {"first_estimate", number_or_null(first_estimate_)},
                   {"best_estimate", number_or_null(best_estimate_)},
                   {"round", candidate_.round},
                   {"rule", static_cast<int>(candidate_.mixture.rule)},
                   {"scores", scores_json(candidate_.scores)}};
}

void KeptRound::restore(const nlohmann::json& state) {
  if (!state.contains("kept")) input_error("the checkpoint is of an older version; start over with --restart");
  const nlohmann::json& own = state.at("kept");
  reasons_ = own.at("reasons").get<std::vector<std::vector<std::string>>>();
  settled_ = integer_from(own.at("settled"), 0, INT64_MAX, "settled rounds");
  first_scores_ = scores_from(own.at("first_scores"));
  first_estimate_ = share_from(own.at("first_estimate"));
  best_estimate_ = share_from(own.at("best_estimate"));
  candidate_.round = integer_from(own.at("round"), 0, INT64_MAX, "kept round");
  candidate_.mixture.rule = combination_from(own.at("rule"));
  candidate_.scores = scores_from(own.at("scores"));
}

void KeptRound::require_fit(const RunShape& shape, const Ensemble& ensemble) const {
  const auto [pictures, sources, classes, round, members, witnesses] = shape;
  require_in_checkpoint(witnesses_.classes() == classes, "witness classes");
  require_integers(witnesses_.labels(), {witnesses, pictures}, kAbstains, classes, "witnesses");
  require_integers(first_label_, {pictures}, 0, classes, "first label");
  if (previous_label_.defined()) require_integers(previous_label_, {pictures}, 0, classes, "previous label");
  require_in_checkpoint(static_cast<int64_t>(reasons_.size()) == round, "rounds that were judged");
  if (rule_ != KeepRule::kLabelFree) return;
  require_in_checkpoint(candidate_.round < round, "kept round");
  if (candidate_.mixture.weights.defined()) require_numbers(candidate_.mixture.weights, {sources}, "kept mixture");
  if (candidate_.weights.defined()) require_numbers(candidate_.weights, {members}, "kept weights");
  require_integers(candidate_.predictions.label, {pictures}, 0, classes, "kept labels");
  require_numbers(candidate_.predictions.confidence, {pictures}, "kept confidences");
  require_integers(candidate_.predictions.by_source, {members, pictures}, 0, classes, "kept labels by source");
  const NamedTensors state = ensemble.state();
  require_in_checkpoint(state.size() == candidate_.models.size(), "kept models");
  for (const NamedTensor& tensor : state) {
    const Tensor kept = find(candidate_.models, tensor.name);
    require_in_checkpoint(
        kept.defined() && kept.sizes() == tensor.value.sizes() && kept.scalar_type() == tensor.value.scalar_type(),
        tensor.name);
  }
}

NamedTensors KeptRound::tensors() const {
  NamedTensors all;
  const auto add = [&all](const std::string& name, const Tensor& value) {
    if (value.defined()) all.push_back({kPrefix + name, value});
  };
  add("witness", witnesses_.labels());
  add("others", witnesses_.others());
  add("first_label", first_label_);
  add("previous_label", previous_label_);
  add("classes", torch::tensor({witnesses_.classes()}, torch::kInt64));
  if (rule_ != KeepRule::kLabelFree) return all;
  add("mixture", candidate_.mixture.weights);
  add("weights", candidate_.weights);
  add("label", candidate_.predictions.label);
  add("confidence", candidate_.predictions.confidence);
  add("by_source", candidate_.predictions.by_source);
  for (const NamedTensor& tensor : candidate_.models) all.push_back({kModels + tensor.name, tensor.value});
  return all;
}

void KeptRound::restore_tensors(const NamedTensors& tensors) {
  const auto own = [&tensors](const std::string& name) { return find(tensors, kPrefix + name); };
  require_integers(own("classes"), {1}, 2, INT32_MAX, "witness classes");
  const auto classes = own("classes").item<int64_t>();
  require_integers(own("witness"), {-1, -1}, kAbstains, classes, "witnesses");
  require_integers(own("others"), own("witness").sizes().vec(), 0, classes, "other witnesses");
  witnesses_ = WitnessRule(own("witness"), own("others"), classes);
  first_label_ = own("first_label");
  previous_label_ = own("previous_label");
  if (rule_ != KeepRule::kLabelFree) return;
  candidate_.mixture.weights = own("mixture");
  candidate_.weights = own("weights");
  candidate_.predictions = {own("label"), own("confidence"), own("by_source")};
  candidate_.models.clear();
  const std::string models = kModels;
  for (const NamedTensor& tensor : tensors)
    if (tensor.name.starts_with(models)) candidate_.models.push_back({tensor.name.substr(models.size()), tensor.value});
}

}  // namespace tributary

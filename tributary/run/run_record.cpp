#include "tributary/run/run_record.h"

#include <algorithm>
#include <array>

#include "tributary/adapt/aggregation.h"
#include "tributary/checkpoint/state_checks.h"
#include "tributary/methods/selective/target_statistics.h"

namespace tributary {
namespace {

constexpr const char* kStatistics = "record.";

std::vector<int64_t> vector_of(const Tensor& labels) {
  return {labels.data_ptr<int64_t>(), labels.data_ptr<int64_t>() + labels.numel()};
}

// The share of every source in the mixture; equal shares without weights.
Tensor trust_of(const Tensor& weights, int64_t sources) {
  return weights.defined() ? normalised_weights(weights).cpu()
                           : torch::full({sources}, 1.0 / static_cast<double>(sources));
}

nlohmann::json to_json(const LabelFreeScores& scores) {
  return {{"classes", scores.classes},
          {"entropy", scores.entropy},
          {"marginal_entropy", scores.marginal_entropy},
          {"trust", scores.trust}};
}

}  // namespace

void RunRecord::on_round(const RoundEvent& event) {
  last_ = event;
  last_.trained = nullptr;
  last_.features.clear();
  last_.logits = last_.probabilities = last_.score = Tensor();
  last_figures_ = figures_of(event);
  if (event.round == 0) {
    first_labels_ = vector_of(last_figures_.label);
    first_mixture_ = event.ensemble->mixture;
    first_statistics_.clear();
    for (const NamedTensor& tensor : running_statistics(*event.ensemble))
      first_statistics_[tensor.name] = tensor.value.detach().to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true);
    first_scores_ = last_figures_.scores;
  }
  if (event.score.defined())
    confident_.push_back(event.trained ? event.trained->confident.size(0) : event.initial_confident);
  seconds_ += event.seconds;
  phases_.training += event.round > 0 ? event.phases.training : 0;
  phases_.evaluation += event.phases.evaluation;
  phases_.weights += event.phases.weights;
  phases_.labels += event.phases.labels;
  phases_.waiting += event.phases.waiting;
}

void RunRecord::save(nlohmann::json& state) const {
  state["first_labels"] = first_labels_;
  state["first_scores"] = {first_scores_.classes, first_scores_.entropy, first_scores_.marginal_entropy,
                           first_scores_.trust};
  state["first_rule"] = static_cast<int>(first_mixture_.rule);
  if (first_mixture_.weights.defined()) {
    const Tensor weights = first_mixture_.weights.to(torch::kCPU, torch::kFloat64).contiguous();
    state["first_weights"] =
        std::vector<double>(weights.data_ptr<double>(), weights.data_ptr<double>() + weights.numel());
  }
  state["confident"] = confident_;
  state["seconds"] = {seconds_, phases_.training, phases_.evaluation, phases_.weights, phases_.labels, phases_.waiting};
}

void RunRecord::restore(const nlohmann::json& state) {
  first_labels_ = integers_from(state.at("first_labels"), 0, INT64_MAX, "first labels");
  const auto scores = state.at("first_scores").get<std::array<double, 4>>();
  first_scores_ = {scores[0], scores[1], scores[2], scores[3]};
  first_mixture_.rule = combination_from(state.at("first_rule"));
  if (state.contains("first_weights"))
    first_mixture_.weights =
        torch::tensor(state.at("first_weights").get<std::vector<double>>(), torch::kFloat64).to(torch::kFloat32);
  confident_ = integers_from(state.at("confident"), 0, INT64_MAX, "confident");
  const auto seconds = state.at("seconds").get<std::array<double, 6>>();
  seconds_ = seconds[0];
  phases_ = {seconds[1], seconds[2], seconds[3], seconds[4], seconds[5]};
}

NamedTensors RunRecord::tensors() const {
  NamedTensors all;
  for (const auto& [name, value] : first_statistics_) all.push_back({kStatistics + name, value});
  return all;
}

void RunRecord::restore_tensors(const NamedTensors& tensors) {
  const std::string prefix = kStatistics;
  first_statistics_.clear();
  for (const NamedTensor& tensor : tensors)
    if (tensor.name.starts_with(prefix)) first_statistics_[tensor.name.substr(prefix.size())] = tensor.value;
}

void RunRecord::restore_first_statistics(Ensemble& unadapted) const {
  const torch::NoGradGuard no_grad;
  for (const NamedTensor& tensor : running_statistics(unadapted))
    Tensor(tensor.value).copy_(first_statistics_.at(tensor.name));
}

void RunRecord::require_fit(const RunShape& shape, const Ensemble& ensemble) const {
  const auto all_below = [](const std::vector<int64_t>& values, int64_t limit) {
    return std::all_of(values.begin(), values.end(), [limit](int64_t value) { return value < limit; });
  };
  require_in_checkpoint(
      static_cast<int64_t>(first_labels_.size()) == shape.pictures && all_below(first_labels_, shape.classes),
      "first labels");
  require_in_checkpoint(
      static_cast<int64_t>(confident_.size()) <= shape.round && all_below(confident_, shape.pictures + 1), "confident");
  if (first_mixture_.weights.defined()) require_numbers(first_mixture_.weights, {shape.sources}, "first weights");
  for (const NamedTensor& tensor : running_statistics(ensemble)) {
    const auto first = first_statistics_.find(tensor.name);
    require_in_checkpoint(first != first_statistics_.end() && first->second.sizes() == tensor.value.sizes() &&
                              first->second.scalar_type() == tensor.value.scalar_type(),
                          tensor.name);
  }
}

double RunRecord::changed_share(const Tensor& label) const {
  const int64_t* const labels = label.data_ptr<int64_t>();
  int64_t changed = 0;
  for (size_t i = 0; i < first_labels_.size(); ++i) changed += labels[i] != first_labels_[i] ? 1 : 0;
  return static_cast<double>(changed) / static_cast<double>(first_labels_.size());
}

void RunRecord::add_to(nlohmann::json& summary) const {
  const Ensemble& ensemble = *last_.ensemble;
  const std::vector<std::string> names = ensemble.member_names();
  const Tensor share = trust_of(last_.weights, ensemble.members());
  for (int64_t j = 0; j < ensemble.members(); ++j) {
    nlohmann::json source = {{"name", names[static_cast<size_t>(j)]}, {"weight", share[j].item<double>()}};
    if (j >= ensemble.size()) source["scores"] = true;
    if (ensemble.has_student && j == ensemble.size() - 1) source["student"] = true;
    summary["sources"].push_back(source);
  }
  if (const auto partly = partly_known(*last_.ensemble); !partly.empty()) summary["known_by"] = partly;
  summary["pictures"] = last_figures_.pictures;
  summary["rounds"] = last_.rounds;
  summary["initial_confident"] = last_.initial_confident;
  summary["confident"] = confident_.empty() ? 0 : confident_.back();
  summary["confident_rounds"] = confident_;
  summary["changed_share"] = changed_share(last_figures_.label);
  summary["seconds"] = seconds_;
  summary["phases"] = {{"training", phases_.training},
                       {"evaluation", phases_.evaluation},
                       {"weights", phases_.weights},
                       {"labels", phases_.labels}};
  summary["waiting_seconds"] = phases_.waiting;
  summary["label_free_scores"] = {{"before", to_json(first_scores_)}, {"after", to_json(last_figures_.scores)}};
}

void RunRecord::replace_result(nlohmann::json& summary, const RoundResult& result) const {
  const Tensor share = trust_of(result.weights, last_.ensemble->members());
  for (int64_t j = 0; j < share.size(0); ++j)
    summary["sources"][static_cast<size_t>(j)]["weight"] = share[j].item<double>();
  summary["changed_share"] = changed_share(result.predictions.label);
  summary["label_free_scores"]["after"] = to_json(result.scores);
}

}  // namespace tributary

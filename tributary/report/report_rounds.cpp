// "rounds" of the report: accuracy, losses and times per round.
#include "tributary/report/report_data.h"

namespace tributary {
namespace {

double fraction(const Tensor& flags) {
  return flags.to(torch::kFloat64).mean().item<double>();
}

// Fraction of `flags` among the pictures of `subset`; null if it is empty.
nlohmann::json fraction_in(const Tensor& flags, const Tensor& subset) {
  const Tensor chosen = flags.masked_select(subset);
  return chosen.numel() == 0 ? nlohmann::json() : nlohmann::json(fraction(chosen));
}

// Accuracy of the mixture, of each source, and of the pseudo-labels inside and outside of the confident set. A round is
// trained on the pseudo-labels of the previous round.
nlohmann::json accuracy_of_round(const ReportParts& parts, size_t index) {
  const RoundHistory& round = parts.history.rounds[index];
  nlohmann::json accuracy = {
      {"mixture", fraction(round.label == parts.truth)}, {"confident", nullptr}, {"unconfident", nullptr}};
  for (int64_t j = 0; j < round.source_label.size(0); ++j)
    accuracy["sources"].push_back(fraction(round.source_label[j] == parts.truth));
  if (round.confident.defined() && index > 0 && parts.history.rounds[index - 1].pseudo_label.defined()) {
    const Tensor right = parts.history.rounds[index - 1].pseudo_label == parts.truth;
    accuracy["confident"] = fraction_in(right, round.confident);
    accuracy["unconfident"] = fraction_in(right, round.confident.logical_not());
  }
  return accuracy;
}

// The losses of a round, each as a list: metrics with one value per source, and those of the alignment.
nlohmann::json losses_of(const nlohmann::json& metrics) {
  nlohmann::json losses = nlohmann::json::object();
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_array() && name != "weights") losses[name] = value;
    if (name == "adversarial" || name == "discriminator") losses[name] = nlohmann::json::array({value});
  }
  return losses;
}

nlohmann::json copied(const nlohmann::json& object, const std::string& key) {
  return object.contains(key) ? object.at(key) : nlohmann::json();
}

}  // namespace

nlohmann::json report_rounds(const ReportParts& parts, const std::vector<nlohmann::json>& metrics) {
  nlohmann::json rounds = nlohmann::json::array();
  const size_t known = std::min(metrics.size(), parts.history.rounds.size());
  for (size_t i = 0; i < known; ++i) {
    const RoundHistory& round = parts.history.rounds[i];
    const nlohmann::json& own = metrics[i];
    nlohmann::json entry = {{"round", round.round},
                            {"seconds", copied(own, "seconds")},
                            {"phases",
                             {{"training", own.value("training_seconds", 0.0)},
                              {"evaluation", own.value("evaluation_seconds", 0.0)},
                              {"weights", own.value("weights_seconds", 0.0)},
                              {"labels", own.value("labels_seconds", 0.0)}}},
                            {"test_accuracy", nullptr},
                            {"bound", nullptr},
                            {"accuracy", nullptr},
                            {"changed", nullptr}};
    for (const char* key : {"weights", "confident", "mean_confidence", "entropy", "marginal_entropy"})
      entry[key] = copied(own, key);
    if (i == 0) entry["confident"] = copied(own, "initial_confident");  // as on the terminal
    if (i > 0) {
      entry["losses"] = losses_of(own);
      entry["changed"] = (round.label != parts.history.rounds[i - 1].label).sum().item<int64_t>();
    }
    if (parts.truth.defined()) entry["accuracy"] = accuracy_of_round(parts, i);
    rounds.push_back(entry);
  }
  return rounds;
}

}  // namespace tributary

#include "tributary/run/observers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "tributary/artefacts/round_scalars.h"
#include "tributary/base/text.h"
#include "tributary/device/device.h"
#include "tributary/methods/round_figures.h"
#include "tributary/terminal/sparkline.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor host = tensor.to(torch::kCPU, torch::kFloat64).contiguous();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

std::string head_of(int64_t round, int64_t rounds) {
  return fmt::format("round {:>{}}/{}", round, std::to_string(rounds).size(), rounds);
}

double system_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

void ProgressObserver::on_step(const StepEvent& event) {
  const double within = static_cast<double>(event.step) / static_cast<double>(event.steps);
  if (event.round == 0) {
    progress_.update(within, "student", facts_);
    return;
  }
  const double done = (static_cast<double>(event.round - 1) + within) / static_cast<double>(event.rounds);
  progress_.update(done, head_of(event.round, event.rounds), facts_);
}

void ProgressObserver::on_round(const RoundEvent& event) {
  const auto accuracy = accuracy_ ? std::optional<double>(accuracy_->last()) : std::nullopt;
  for (const std::string& line : table_.add(event, accuracy)) progress_.line(line);
  facts_ = fmt::format("{} pictures", thousands(event.rows.total(event.probabilities.size(0))));
  if (!event.score.defined()) return;
  const int64_t confident = event.trained ? event.trained->confident.size(0) : event.initial_confident;
  confident_.push_back(static_cast<double>(confident));
  facts_ = fmt::format("confident {} {} of {}", sparkline(confident_), thousands(confident), facts_);
}

void ProgressObserver::save(nlohmann::json& state) const {
  state["shown_confident"] = confident_;
}

void ProgressObserver::restore(const nlohmann::json& state) {
  confident_ = state.at("shown_confident").get<std::vector<double>>();
}

nlohmann::json round_metrics(const RoundEvent& event) {
  const RoundFigures figures = figures_of(event);
  nlohmann::json object = {{"round", event.round},
                           {"rounds", event.rounds},
                           {"pictures", figures.pictures},
                           {"entropy", figures.entropy},
                           {"marginal_entropy", figures.marginal_entropy},
                           {"seconds", event.seconds},
                           {"evaluation_seconds", event.phases.evaluation},
                           {"weights_seconds", event.phases.weights},
                           {"labels_seconds", event.phases.labels},
                           {"waiting_seconds", event.phases.waiting}};
  if (event.weights.defined()) {
    object["weights"] = numbers(event.weights);
    object["weight_sum"] = event.weights.abs().sum().item<double>();
  }
  for (const auto& [name, means] : event.means) object[name] = means;
  if (event.score.defined()) {
    object["initial_confident"] = event.initial_confident;
    object["mean_confidence"] = figures.pseudo_confidence.mean().item<double>();
  }
  if (event.largest_share > 0) object["largest_share"] = event.largest_share;
  if (event.round > 0) {
    object["training_seconds"] = event.phases.training;
    object["pictures_per_second"] = static_cast<double>(event.pictures) / event.phases.training;
  }
  if (event.trained) {
    object["confident"] = event.trained->confident.size(0);
    object["cross_entropy"] = event.losses.cross_entropy;
    object["information"] = event.losses.information;
    if (event.losses.aligned) {
      object["adversarial"] = event.losses.adversarial;
      object["discriminator"] = event.losses.discriminator;
    }
  }
  return object;
}

void MetricsObserver::on_round(const RoundEvent& event) {
  nlohmann::json metrics = round_metrics(event);
  if (!shared_scores_) own_scores_.on_round(event);
  metrics["ranking_scores"] = (shared_scores_ ? *shared_scores_ : own_scores_).last();
  if (kept_) metrics["witness"] = kept_->witness_metrics();
  if (const int64_t peak = peak_process_memory(device_); peak > 0) metrics["gpu_peak_bytes"] = peak;
  folder_.add_metrics(metrics);
}

AccuracyObserver::AccuracyObserver(const LabelledImages& test, torch::Device device)
    : images_(test.images, device), label_(torch::tensor(test.labels.values, torch::kInt64).to(device)) {}

void AccuracyObserver::on_round(const RoundEvent& event) {
  torch::NoGradGuard no_grad;
  const RowBlock rows(event.ensemble->comm(), images_.size());
  const Tensor predicted = combine(evaluate_logits(*event.ensemble, images_, rows), event.ensemble->mixture).argmax(-1);
  const int64_t right = rows.sum((predicted == rows.own(label_)).sum().item<int64_t>());
  rounds_.push_back(static_cast<double>(right) / static_cast<double>(images_.size()));
}

void AccuracyObserver::save(nlohmann::json& state) const {
  state["accuracy"] = rounds_;
}

void AccuracyObserver::restore(const nlohmann::json& state) {
  rounds_ = state.at("accuracy").get<std::vector<double>>();
}

TensorBoardObserver::TensorBoardObserver(const std::string& folder, const AccuracyObserver* accuracy, Clock clock)
    : clock_(clock ? std::move(clock) : system_time), file_(folder, clock_()), accuracy_(accuracy) {}

void TensorBoardObserver::on_round(const RoundEvent& event) {
  std::vector<Scalar> scalars = round_scalars(round_metrics(event), event.ensemble->member_names());
  if (accuracy_) scalars.push_back({"accuracy", 100 * accuracy_->last()});
  const double now = clock_();
  for (const Scalar& scalar : scalars) file_.scalar(scalar.tag, event.round, scalar.value, now);
}

void TensorBoardObserver::add_bound(const nlohmann::json& terms) {
  const double now = clock_();
  for (const auto& [name, value] : terms.items())
    if (name != "round" && value.is_number())
      file_.scalar("bound/" + name, terms.at("round").get<int64_t>(), value.get<double>(), now);
}

void LabelFreePick::on_round(const RoundEvent& event) {
  losses_.push_back(figures_of(event).information_loss);
}

void LabelFreePick::save(nlohmann::json& state) const {
  state["information_loss"] = losses_;
}

void LabelFreePick::restore(const nlohmann::json& state) {
  losses_ = state.at("information_loss").get<std::vector<double>>();
}

void LabelFreePick::require_fit(const RunShape& shape) const {
  require_in_checkpoint(static_cast<int64_t>(losses_.size()) == shape.round, "information losses");
}

void AccuracyObserver::require_fit(const RunShape& shape) const {
  require_in_checkpoint(static_cast<int64_t>(rounds_.size()) == shape.round, "accuracies");
}

int64_t LabelFreePick::round() const {
  return std::min_element(losses_.begin(), losses_.end()) - losses_.begin();
}

double AccuracyObserver::oracle_best() const {
  return *std::max_element(rounds_.begin(), rounds_.end());
}

}  // namespace tributary

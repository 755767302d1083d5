#include "tributary/report/observers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tributary/adapt/information.h"
#include "tributary/base/text.h"
#include "tributary/eval/metrics.h"
#include "tributary/report/round_scalars.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

double mean_of(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor host = tensor.to(torch::kCPU, torch::kFloat64).contiguous();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

std::string head_of(int64_t round, int64_t rounds) {
  return fmt::format("round {:>{}}/{}", round, std::to_string(rounds).size(), rounds);
}

std::string speed_of(const RoundEvent& event) {
  return fmt::format("{} pictures/s",
                     thousands(static_cast<int64_t>(static_cast<double>(event.pictures) / event.phases.training)));
}

double system_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

void ProgressObserver::on_step(const StepEvent& event) {
  const double within = static_cast<double>(event.step) / static_cast<double>(event.steps);
  const double done = (static_cast<double>(event.round - 1) + within) / static_cast<double>(event.rounds);
  progress_.update(done, head_of(event.round, event.rounds), facts_);
}

void ProgressObserver::on_round(const RoundEvent& event) {
  if (!event.score.defined()) {
    facts_ = event.round == 0 ? fmt::format("{} pictures", thousands(event.probabilities.size(0))) : "";
    for (const auto& [name, means] : event.means) facts_ += fmt::format("{} {:.2f}   ", name, mean_of(means));
    if (event.round > 0) facts_ += speed_of(event);
  } else if (event.round == 0) {
    facts_ = fmt::format("confident {} of {} at the start", thousands(event.initial_confident),
                         thousands(event.probabilities.size(0)));
  } else {
    facts_ = fmt::format("confident {} of {}   IM {:.2f}", thousands(event.trained->confident.size(0)),
                         thousands(event.probabilities.size(0)), mean_of(event.losses.information));
    if (event.losses.aligned) facts_ += fmt::format("   align {:.2f}", event.losses.adversarial);
    facts_ += "   " + speed_of(event);
  }
  progress_.milestone(head_of(event.round, event.rounds), facts_);
}

nlohmann::json round_metrics(const RoundEvent& event) {
  nlohmann::json object = {{"round", event.round},
                           {"rounds", event.rounds},
                           {"pictures", event.probabilities.size(0)},
                           {"entropy", entropy(event.probabilities).mean().item<double>()},
                           {"marginal_entropy", entropy(event.probabilities.mean(0)).item<double>()},
                           {"seconds", event.seconds},
                           {"evaluation_seconds", event.phases.evaluation},
                           {"weights_seconds", event.phases.weights},
                           {"labels_seconds", event.phases.labels}};
  if (event.weights.defined()) {
    object["weights"] = numbers(event.weights);
    object["weight_sum"] = event.weights.abs().sum().item<double>();
  }
  for (const auto& [name, means] : event.means) object[name] = means;
  if (event.score.defined()) {
    object["initial_confident"] = event.initial_confident;
    object["mean_confidence"] = std::get<0>(event.score.max(-1)).mean().item<double>();
  }
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
  folder_.add_metrics(round_metrics(event));
}

AccuracyObserver::AccuracyObserver(const LabelledImages& test, torch::Device device)
    : images_(test.images, device), label_(torch::tensor(test.labels.values, torch::kInt64).to(device)) {}

void AccuracyObserver::on_round(const RoundEvent& event) {
  torch::NoGradGuard no_grad;
  rounds_.push_back(accuracy_of(combine(evaluate_logits(*event.ensemble, images_), event.ensemble->mixture), label_));
}

TensorBoardObserver::TensorBoardObserver(const std::string& folder, const AccuracyObserver* accuracy, Clock clock)
    : clock_(clock ? std::move(clock) : system_time), file_(folder, clock_()), accuracy_(accuracy) {}

void TensorBoardObserver::on_round(const RoundEvent& event) {
  std::vector<std::string> sources;
  for (const SourceModel& source : event.ensemble->sources) sources.push_back(source.info().name);
  std::vector<Scalar> scalars = round_scalars(round_metrics(event), sources);
  if (accuracy_) scalars.push_back({"accuracy", 100 * accuracy_->last()});
  const double now = clock_();
  for (const Scalar& scalar : scalars) file_.scalar(scalar.tag, event.round, scalar.value, now);
}

void LabelFreePick::on_round(const RoundEvent& event) {
  torch::NoGradGuard no_grad;
  losses_.push_back(information_loss(event.probabilities).item<double>());
}

int64_t LabelFreePick::round() const {
  return std::min_element(losses_.begin(), losses_.end()) - losses_.begin();
}

double AccuracyObserver::oracle_best() const {
  return *std::max_element(rounds_.begin(), rounds_.end());
}

}  // namespace tributary

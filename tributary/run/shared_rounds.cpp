#include "tributary/run/shared_rounds.h"

#include <utility>

namespace tributary {
namespace {

std::vector<Observer*> all_of(const SharedRounds::Listeners& listeners) {
  std::vector<Observer*> all = listeners.everywhere;
  all.insert(all.end(), listeners.by_rows.begin(), listeners.by_rows.end());
  all.insert(all.end(), listeners.own.begin(), listeners.own.end());
  return all;
}

}  // namespace

SharedRounds::SharedRounds(Listeners listeners, bool first, std::optional<HistoryOptions> history)
    : listeners_(std::move(listeners)), all_(all_of(listeners_)), first_(first), history_(history) {}

void SharedRounds::on_step(const StepEvent& event) {
  last_ = {};  // leaves its memory to the next round
  all_.on_step(event);
}

void SharedRounds::on_round(const RoundEvent& event) {
  RoundEvent complete = event;
  last_ = {event.rows, event.logits, event.probabilities};
  const bool takes_part = first_ || event.rows.divided();
  if (takes_part) {
    auto figures = std::make_shared<RoundFigures>(figures_of(event));
    if (event.rows.divided() && history_) {
      const torch::NoGradGuard no_grad;
      figures->sample.picture = sampled_pictures(figures->pictures, history_->pictures_of(event));
      figures->sample.features = sampled_features(event, figures->sample.picture);
    }
    complete.figures = std::move(figures);
  }
  for (Observer* listener : listeners_.everywhere) listener->on_round(complete);
  if (takes_part)
    for (Observer* listener : listeners_.by_rows) listener->on_round(complete);
  for (Observer* listener : listeners_.own) listener->on_round(complete);
}

}  // namespace tributary

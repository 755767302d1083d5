#include "tributary/methods/selective/target_state.h"

#include <algorithm>

#include "tributary/base/stopwatch.h"
#include "tributary/device/device.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

// Seconds since the last lap, including pending work of the device.
double lap(Stopwatch& watch, torch::Device device) {
  synchronise(device);
  return watch.lap();
}

TargetState evaluate_sources(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options) {
  TargetState state;
  std::vector<Tensor> logits;
  for (const Outputs& outputs :
       evaluate(ensemble.sources, images, is_mixed(options.precision), &state.seconds.waiting)) {
    state.features.push_back(outputs.features);
    logits.push_back(outputs.logits);
  }
  state.logits = at::stack(logits);
  return state;
}

void score_target(TargetState& state, const SelectiveOptions& options) {
  state.probabilities =
      combine(state.logits, weighted_mixture(state.weights, options.aggregation.space, options.aggregation.scale));
  state.score = options.denoise
                    ? denoised_score(state.probabilities, normalised_weights(state.weights), state.posteriors)
                    : state.probabilities;
}

void synchronise_state(const TargetState& state, const Ensemble& ensemble) {
  ensemble.synchronise({{"weights", state.weights}, {"probabilities", state.probabilities}, {"score", state.score}});
}

// Prototype posteriors of every source. `label_of(own)` gives the labels for its prototypes, from its probabilities.
template <typename LabelOf>
Tensor posteriors_of(const TargetState& state, const SelectiveOptions& options, LabelOf label_of) {
  std::vector<Tensor> posteriors;
  for (size_t j = 0; j < state.features.size(); ++j) {
    const Tensor own = state.logits[static_cast<int64_t>(j)].softmax(-1);
    posteriors.push_back(refined_posterior(state.features[j], label_of(own), own, options.prototypes));
  }
  return at::stack(posteriors);
}

Tensor starting_weights(const Ensemble& ensemble, const SelectiveOptions& options) {
  return initial_weights(ensemble.size(), options.aggregation.start,
                         Random(static_cast<uint64_t>(options.seed), Purpose::kWeights))
      .to(ensemble.sources.front().device());
}

}  // namespace

TargetState first_state(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options) {
  torch::NoGradGuard no_grad;
  Stopwatch watch;
  TargetState state = evaluate_sources(ensemble, images, options);
  state.seconds.evaluation = lap(watch, images.device());
  state.weights = optimise_weights(state.logits, starting_weights(ensemble, options), options.aggregation);
  state.seconds.weights = lap(watch, images.device());
  const Mixture mixture = weighted_mixture(state.weights, options.aggregation.space, options.aggregation.scale);
  const Tensor mixed = combine(state.logits, mixture).argmax(-1);
  state.posteriors = posteriors_of(state, options, [&](const Tensor& own) {
    return options.first_labels == FirstLabels::kOwn ? own.argmax(-1) : mixed;
  });
  score_target(state, options);
  synchronise_state(state, ensemble);
  state.seconds.labels = lap(watch, images.device());
  return state;
}

TargetState next_state(Ensemble& ensemble, const DeviceImages& images, const Selection& trained, const Tensor& weights,
                       const SelectiveOptions& options) {
  torch::NoGradGuard no_grad;
  Stopwatch watch;
  TargetState state = evaluate_sources(ensemble, images, options);
  state.seconds.evaluation = lap(watch, images.device());
  state.posteriors = posteriors_of(state, options, [&](const Tensor&) { return trained.label; });
  state.seconds.labels = lap(watch, images.device());
  const Tensor start = options.aggregation.restart ? starting_weights(ensemble, options) : weights;
  state.weights = optimise_weights(state.logits, start, options.aggregation);
  state.seconds.weights = lap(watch, images.device());
  score_target(state, options);
  synchronise_state(state, ensemble);
  state.seconds.labels += lap(watch, images.device());
  return state;
}

Selection select_for_round(const TargetState& state, int64_t initial, int64_t round, const SelectiveOptions& options) {
  const int64_t total = state.score.size(0);
  const int64_t count = confident_count(initial, total, round, options.rounds, options.growth);
  return select_confident(state.score, std::clamp<int64_t>(count, 2, total));
}

}  // namespace tributary

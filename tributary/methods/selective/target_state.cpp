#include "tributary/methods/selective/target_state.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tributary/adapt/agreement.h"
#include "tributary/adapt/class_balance.h"
#include "tributary/adapt/class_prior.h"
#include "tributary/adapt/cross_labels.h"
#include "tributary/adapt/label_balance.h"
#include "tributary/adapt/neighbourhood.h"
#include "tributary/base/stopwatch.h"
#include "tributary/device/device.h"
#include "tributary/methods/selective/given_prior.h"
#include "tributary/methods/selective/target_statistics.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

// Seconds since the last lap, including pending work of the device.
double lap(Stopwatch& watch, torch::Device device) {
  synchronise(device);
  return watch.lap();
}

enum class Student { kIncluded, kLeftOut };

TargetState evaluate_sources(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options,
                             Student student = Student::kIncluded) {
  TargetState state;
  state.rows = RowBlock(ensemble.comm(), images.size());
  const bool without = student == Student::kLeftOut && ensemble.has_student;
  const std::span<SourceModel> sources(ensemble.sources.data(), ensemble.sources.size() - (without ? 1 : 0));
  std::vector<Tensor> logits;
  if (!sources.empty())
    for (const Outputs& outputs :
         evaluate(sources, images, is_mixed(options.precision), &state.seconds.waiting, state.rows)) {
      state.features.push_back(outputs.features);
      logits.push_back(outputs.logits);
    }
  state.logits = ensemble.with_fixed(logits, state.rows);
  state.known = without ? ensemble.without_student(ensemble.known()) : ensemble.known();
  if (!without) state.own_logits = ensemble.fixed.empty() ? state.logits : ensemble.stacked(logits);
  return state;
}

// The weights before any optimisation.
Tensor starting_weights(const TargetState& state, const Ensemble& ensemble, const SelectiveOptions& options) {
  if (options.aggregation.start == WeightStart::kAgreement)
    return agreement_start(votes(state.logits, state.known), state.logits.size(-1), state.rows)
        .to(state.logits.device());
  return initial_weights(state.logits.size(0), options.aggregation.start,
                         Random(static_cast<uint64_t>(options.seed), Purpose::kWeights))
      .to(ensemble.sources.front().device());
}

// The weights of the samples in the domain weights' loss; undefined if they are equal.
Tensor sample_weights_of(const Tensor& label, int64_t classes, const SelectiveOptions& options, const RowBlock& rows) {
  return options.class_cap > 0 ? balanced_sample_weights(label, classes, options.class_cap, rows) : Tensor();
}

// The domain weights of the unadapted sources. With `class_cap` they need labels of the samples: first those of a vote
// that is weighted by agreement, then those of the weighted mixture itself.
Tensor first_weights(const TargetState& state, const Tensor& start, const Tensor& prior,
                     const SelectiveOptions& options, const GivenLabels& given) {
  const Tensor& logits = state.logits;
  if (options.class_cap == 0 || logits.size(0) < 2)
    return optimise_weights(logits, start, options.aggregation, prior, {}, given, state.rows);
  constexpr int kPasses = 2;
  const int64_t classes = logits.size(-1);
  Tensor weights = weights_from_agreement(votes(logits, state.known), classes, state.rows).to(logits.device());
  for (int pass = 0; pass < kPasses; ++pass) {
    const Mixture mixture = weighted_mixture(weights, options.aggregation.space, options.aggregation.scale);
    const Tensor label = combine(logits, mixture).argmax(-1);
    weights = optimise_weights(logits, start, options.aggregation, prior,
                               sample_weights_of(label, classes, options, state.rows), given, state.rows);
  }
  return weights;
}

// Labels of the unadapted sources, which show how large the classes are; undefined without `class_cap`.
Tensor first_labels(const TargetState& state, const Ensemble& ensemble, const SelectiveOptions& options) {
  if (options.class_cap == 0) return {};
  const Tensor weights = first_weights(state, starting_weights(state, ensemble, options), {}, options, {});
  return combine(state.logits, weighted_mixture(weights, options.aggregation.space, options.aggregation.scale))
      .argmax(-1);
}

void take_target_statistics(Ensemble& ensemble, const DeviceImages& images, int64_t passes,
                            const SelectiveOptions& options) {
  adapt_batch_norm(ensemble, images, passes, static_cast<uint64_t>(options.seed), is_mixed(options.precision));
}

// The running statistics of all sources but a student.
NamedTensors given_statistics(const Ensemble& ensemble) {
  NamedTensors statistics = running_statistics(ensemble);
  const std::string student = fmt::format("source.{}.", ensemble.size() - 1);
  if (ensemble.has_student)
    std::erase_if(statistics, [&](const NamedTensor& tensor) { return tensor.name.starts_with(student); });
  return statistics;
}

double trust_in(const TargetState& state) {
  return mutual_trust(votes(state.logits, state.known), state.logits.size(-1), state.rows);
}

void measure_largest_class(TargetState& state, const Tensor& label) {
  if (!label.defined()) return;
  state.largest_share = largest_share(label, state.logits.size(-1), state.rows);
  state.dominated = is_dominated(state.largest_share, trust_in(state), state.logits.size(-1));
}

// Evaluates the unadapted sources, with the statistics of the target set in BatchNorm if the options ask for it and, by
// the rule of agreement, the sources then agree more.
TargetState evaluate_start(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options) {
  const auto take_statistics = [&] {
    adapt_batch_norm(ensemble, images, options.target_statistics, static_cast<uint64_t>(options.seed),
                     is_mixed(options.precision), /*leave_student_out=*/true);
  };
  const auto evaluate_given = [&] { return evaluate_sources(ensemble, images, options, Student::kLeftOut); };
  const NamedTensors statistics = given_statistics(ensemble);
  if (options.target_statistics == 0 || statistics.empty()) {
    TargetState state = evaluate_given();
    measure_largest_class(state, first_labels(state, ensemble, options));
    return state;
  }
  const int64_t opinions = ensemble.members() - (ensemble.has_student ? 1 : 0);
  const bool compares = options.statistics_rule == StatisticsRule::kAgreement && opinions >= 2;
  if (!compares && options.class_cap == 0) {
    take_statistics();
    return evaluate_given();
  }
  const NamedTensors own = copy_of(statistics);
  TargetState before = evaluate_given();
  measure_largest_class(before, first_labels(before, ensemble, options));
  take_statistics();
  TargetState after = evaluate_given();
  after.largest_share = before.largest_share;
  const Tensor own_labels = votes(before.logits, before.known), labels = votes(after.logits, after.known);
  const int64_t classes = after.logits.size(-1);
  // Sources that err towards one class also make it look large; with the target's statistics they then agree clearly
  // more.
  const RowBlock& rows = after.rows;
  before.dominated =
      before.dominated && mutual_trust(labels, classes, rows) < mutual_trust(own_labels, classes, rows) + kClearGain;
  const bool looks_skewed = is_skewed(before.largest_share, classes);
  if (!before.dominated && (!compares || agrees_more(own_labels, labels, classes, looks_skewed, rows))) {
    if (looks_skewed) after.largest_share = largest_share(first_labels(after, ensemble, options), classes, rows);
    return after;
  }
  for (size_t i = 0; i < own.size(); ++i) statistics[i].value.copy_(own[i].value);
  return before;
}

// Falls back to the plain ensemble unless the sources support the labels of the weighted mixture better. Without
// training the result is one of both, and on a dominated target set the weights may favour sources that spread its
// large class.
void require_support(TargetState& state) {
  const int64_t sources = state.logits.size(0), classes = state.logits.size(-1);
  const Mixture plain;
  const Tensor weighted = combine(state.logits, state.mixture).argmax(-1);
  if (is_better_supported(weighted, combine(state.logits, plain).argmax(-1), votes(state.logits, state.known), classes,
                          state.rows))
    return;
  state.mixture = plain;
  state.weights = torch::full_like(state.weights, 1 / static_cast<double>(sources));
}

// Rows scaled to sum 1.
Tensor unit_rows(const Tensor& score) {
  return score / score.sum(1, true).clamp_min(1e-30);
}

// The mixture that is scored, with unit weights or as it is, its class shares moved towards the prior as far as the
// options ask for it. Offsets are found with unit weights: the free scale makes all samples look certain.
Tensor scored_mixture(const TargetState& state, const Tensor& prior, const SelectiveOptions& options) {
  const bool unit = options.score_scale == ScoreScale::kUnit;
  if (!unit && options.label_balance == 0) return state.probabilities;
  const Tensor of_unit = combine(state.logits, {Combination::kWeightedLogits, normalised_weights(state.weights)});
  const Tensor& mixture = unit ? of_unit : state.probabilities;
  if (options.label_balance == 0) return mixture;
  const bool scaled = !unit && state.mixture.rule == Combination::kWeightedLogits;
  const Tensor scale = scaled ? state.mixture.weights.sum().to(mixture.device()) : at::ones({}, mixture.options());
  return with_offsets(mixture, options.label_balance * balancing_offsets(of_unit, prior, state.rows), scale);
}

void score_target(TargetState& state, const Tensor& prior, const SelectiveOptions& options, const GivenLabels& given) {
  state.probabilities = combine(state.logits, state.mixture);
  const Tensor mixture = scored_mixture(state, prior, options);
  const auto sources = static_cast<int64_t>(state.features.size());  // fixed ones have no features
  const Tensor shares =
      normalised_weights(sources == state.weights.size(0) ? state.weights : leading_weights(state.weights, sources));
  state.score =
      options.denoise && state.posteriors.defined() ? denoised_score(mixture, shares, state.posteriors) : mixture;
  if (options.neighbours > 0 && sources > 0)
    state.score = neighbour_average(with_given_scores(unit_rows(state.score), given),
                                    joint_neighbours(state.features, shares, options.neighbours, state.rows),
                                    options.neighbour_share, state.rows);
  state.score = with_given_scores(state.score, given);
}

// The labels of each source, if it has its own. A mixture of probabilities has no weights of logits: its sources then
// count by their shares.
void label_sources(TargetState& state, const SelectiveOptions& options, const GivenLabels& given) {
  if (!options.cross_labels) return;
  const bool of_logits = options.aggregation.space == MixtureSpace::kLogits;
  const Tensor weights =
      of_logits ? weighted_mixture(state.weights, options.aggregation.space, options.aggregation.scale).weights
                : normalised_weights(state.weights);
  state.source_label =
      cross_labels(state.score.argmax(-1), {state.logits, options.denoise ? state.posteriors : Tensor(), weights});
  for (int64_t j = 0; j < state.source_label.size(0); ++j)
    state.source_label[j].copy_(with_given_labels(state.source_label[j], given));
}

void synchronise_state(const TargetState& state, const Ensemble& ensemble) {
  ensemble.synchronise({{"weights", state.weights}});
  if (state.rows.divided()) return;  // what each rank has is its own
  ensemble.synchronise({{"probabilities", state.probabilities}, {"score", state.score}});
  if (state.source_label.defined()) ensemble.synchronise({{"source_label", state.source_label}});
}

// Prototype posteriors of every source. `label_of(j, own)` gives the labels for the prototypes of source j, from its
// probabilities; given labels replace them.
template <typename LabelOf>
Tensor posteriors_of(const TargetState& state, const SelectiveOptions& options, const GivenLabels& given,
                     LabelOf label_of) {
  const auto sources = static_cast<int64_t>(state.features.size());
  const Tensor of_sources = state.known.defined() ? state.known.narrow(0, 0, sources) : Tensor();
  if (sources == 0 || (of_sources.defined() && !are_linked(of_sources))) return {};
  std::vector<Tensor> posteriors;
  for (size_t j = 0; j < state.features.size(); ++j) {
    const Tensor own = state.logits[static_cast<int64_t>(j)].softmax(-1);
    const auto source = static_cast<int64_t>(j);
    const Tensor known = state.known.defined() ? state.known[source].to(own.device()) : Tensor();
    posteriors.push_back(refined_posterior(state.features[j], with_given_labels(label_of(source, own), given), own,
                                           options.prototypes, known, given, state.rows));
  }
  return complete_posteriors(at::stack(posteriors), of_sources);
}

// How far the estimated class prior follows the pseudo-labels. A set that does not look skewed keeps a uniform prior if
// the options ask for that.
double prior_trust(const TargetState& state, const SelectiveOptions& options) {
  const bool estimates = options.class_prior != "skewed" || is_skewed(state.largest_share, state.logits.size(-1));
  return options.has_class_prior() && estimates ? trust_in(state) : 0;
}

// The class prior that the options ask for; undefined if it is uniform. An estimated one is that of a score [n, K].
Tensor prior_of(const Tensor& score, double trust, const Ensemble& ensemble, const SelectiveOptions& options,
                const RowBlock& rows) {
  if (!options.has_class_prior() || (options.estimates_class_prior() && trust == 0)) return {};
  if (options.estimates_class_prior()) return estimated_prior(score.argmax(-1), score.size(1), trust, rows);
  return read_class_prior(options.class_prior, ensemble.classes()).to(score.device());
}

}  // namespace

namespace {

// Completes the state of an evaluation before training.
void label_first(TargetState& state, Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options,
                 const GivenLabels& all_given, Stopwatch& watch) {
  const GivenLabels given = all_given.of_rows(state.rows);
  state.seconds.evaluation = lap(watch, images.device());
  const Tensor prior = prior_of(state.logits.softmax(-1).mean(0), state.trust, ensemble, options, state.rows);
  state.weights = first_weights(state, starting_weights(state, ensemble, options), prior, options, given);
  state.seconds.weights = lap(watch, images.device());
  state.mixture = weighted_mixture(state.weights, options.aggregation.space, options.aggregation.scale);
  if (leaves_untrained(state, options)) require_support(state);
  const Tensor mixed = combine(state.logits, state.mixture).argmax(-1);
  state.posteriors = posteriors_of(state, options, given, [&](int64_t, const Tensor& own) {
    return options.first_labels == FirstLabels::kOwn ? own.argmax(-1) : mixed;
  });
  score_target(state, prior, options, given);
  label_sources(state, options, given);
  synchronise_state(state, ensemble);
  state.seconds.labels = lap(watch, images.device());
}

}  // namespace

TargetState first_state(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options,
                        const GivenLabels& given) {
  torch::NoGradGuard no_grad;
  Stopwatch watch;
  TargetState state = evaluate_start(ensemble, images, options);
  state.trust = prior_trust(state, options);
  label_first(state, ensemble, images, options, given, watch);
  return state;
}

TargetState taught_state(Ensemble& ensemble, const DeviceImages& images, const TargetFacts& facts,
                         const SelectiveOptions& options, const GivenLabels& given) {
  torch::NoGradGuard no_grad;
  Stopwatch watch;
  TargetState state = evaluate_sources(ensemble, images, options);
  state.largest_share = facts.largest_share;
  state.dominated = facts.dominated;
  state.trust = facts.trust;
  label_first(state, ensemble, images, options, given, watch);
  return state;
}

bool leaves_untrained(const TargetState& state, const SelectiveOptions& options) {
  return options.leave_dominated && state.dominated;
}

RoundMemory memory_of(const TargetState& state, const Ensemble& ensemble, const SelectiveOptions& options) {
  RoundMemory memory{state.weights, {}, {}, {}, state.trust};
  if (options.class_cap > 0) memory.prediction = state.score.argmax(-1);
  if (options.score_memory > 0) memory.score = state.score;
  memory.prior = prior_of(state.score, state.trust, ensemble, options, state.rows);
  return memory;
}

TargetState next_state(Ensemble& ensemble, const DeviceImages& images, const Selection& trained,
                       const RoundMemory& memory, const SelectiveOptions& options, const GivenLabels& all_given) {
  torch::NoGradGuard no_grad;
  Stopwatch watch;
  if (options.round_statistics > 0) take_target_statistics(ensemble, images, options.round_statistics, options);
  TargetState state = evaluate_sources(ensemble, images, options);
  const GivenLabels given = all_given.of_rows(state.rows);
  state.seconds.evaluation = lap(watch, images.device());
  state.posteriors = posteriors_of(state, options, given, [&](int64_t j, const Tensor&) {
    return state.rows.own(trained.source_label.defined() ? trained.source_label[j] : trained.label);
  });
  state.seconds.labels = lap(watch, images.device());
  const Tensor start = options.aggregation.restart ? starting_weights(state, ensemble, options) : memory.weights;
  state.trust = memory.trust;
  state.weights = optimise_weights(state.logits, start, options.aggregation, memory.prior,
                                   sample_weights_of(memory.prediction, state.logits.size(-1), options, state.rows),
                                   given, state.rows);
  state.mixture = weighted_mixture(state.weights, options.aggregation.space, options.aggregation.scale);
  state.seconds.weights = lap(watch, images.device());
  score_target(state, memory.prior, options, given);
  if (memory.score.defined())
    state.score = with_given_scores(
        (1 - options.score_memory) * unit_rows(state.score) + options.score_memory * unit_rows(memory.score), given);
  label_sources(state, options, given);
  synchronise_state(state, ensemble);
  state.seconds.labels += lap(watch, images.device());
  return state;
}

Selection select_for_round(const TargetState& state, int64_t initial, int64_t round, const SelectiveOptions& options,
                           const GivenLabels& given) {
  const int64_t total = state.rows.total(state.score.size(0));
  const auto largest = std::max<int64_t>(initial, std::llround(options.final_share * static_cast<double>(total)));
  const int64_t count =
      std::clamp<int64_t>(confident_count(initial, largest, round, options.rounds, options.growth), 2, total);
  Selection selection =
      with_given_selected(options.per_class ? select_confident_per_class(state.score, count, state.rows)
                                            : select_confident(state.score, count, state.rows),
                          given);
  if (state.source_label.defined())
    selection.source_label =
        at::where(selection.label == Selection::kUnlabelled, selection.label, state.rows.gather(state.source_label, 1));
  return selection;
}

}  // namespace tributary

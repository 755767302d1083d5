#include "tributary/methods/selective/selective.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "tributary/base/error.h"
#include "tributary/base/stopwatch.h"
#include "tributary/device/device.h"
#include "tributary/methods/selective/step_runner.h"
#include "tributary/methods/selective/target_state.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

// The fewest pictures that make a batch, where more are to be had.
int64_t least_of(const SelectiveOptions& options) {
  return std::max<int64_t>(2, std::llround(options.least_batch * static_cast<double>(options.batch)));
}

int64_t batches_of(const Tensor& index, const SelectiveOptions& options) {
  const int64_t full = index.size(0) / options.batch, rest = index.size(0) % options.batch;
  return std::max<int64_t>(1, full + (rest >= least_of(options) ? 1 : 0));
}

// The two loaders of a round, restarting each on its own or both together (D2).
class RoundLoader {
 public:
  RoundLoader(const Selection& selection, const SelectiveOptions& options, int64_t round)
      : paired_(options.pairing == LoaderPairing::kPaired),
        confident_(selection.confident, options.batch, shuffle(options, round, 0), least_of(options)) {
    if (selection.unconfident.size(0) >= least_of(options))
      unconfident_.emplace(selection.unconfident, options.batch, shuffle(options, round, 1), least_of(options));
    steps_ = options.inner_epochs * std::max(batches_of(selection.confident, options),
                                             unconfident_ ? batches_of(selection.unconfident, options) : 0);
  }

  int64_t steps() const { return steps_; }
  bool aligns() const { return unconfident_.has_value(); }

  StepPositions next() {
    if (paired_ && unconfident_ && (confident_.exhausted() || unconfident_->exhausted())) {
      confident_.restart();
      unconfident_->restart();
    }
    const Tensor confident = confident_.next();
    return {confident, unconfident_ ? unconfident_->next() : Tensor()};
  }

 private:
  static Random shuffle(const SelectiveOptions& options, int64_t round, uint64_t which) {
    return Random(static_cast<uint64_t>(options.seed), Purpose::kShuffle, {static_cast<uint64_t>(round), which});
  }

  bool paired_;
  Sampler confident_;
  std::optional<Sampler> unconfident_;
  int64_t steps_;
};

// The mean of each loss over the steps of a round, float [steps, 2 m + 2].
MeanLosses means_of(const Tensor& history, int64_t sources, bool aligned, int64_t round) {
  const Tensor host = history.to(torch::kCPU, torch::kFloat64);
  const Tensor bad = host.isfinite().logical_not().nonzero();
  if (bad.size(0) > 0) {
    const int64_t step = bad[0][0].item<int64_t>();
    const int64_t column = bad[0][1].item<int64_t>();
    const std::string term = column < sources        ? fmt::format("cross-entropy of source {}", column)
                             : column < 2 * sources  ? fmt::format("information loss of source {}", column - sources)
                             : column == 2 * sources ? "adversarial loss"
                                                     : "discriminator loss";
    work_error(
        "round {}, step {}: the {} is not finite; try smaller learning rates (--rate-backbone, --rate-bottleneck)",
        round, step + 1, term);
  }
  const Tensor mean = host.mean(0);
  MeanLosses losses;
  for (int64_t j = 0; j < sources; ++j) losses.cross_entropy.push_back(mean[j].item<double>());
  for (int64_t j = 0; j < sources; ++j) losses.information.push_back(mean[sources + j].item<double>());
  losses.adversarial = mean[2 * sources].item<double>();
  losses.discriminator = mean[2 * sources + 1].item<double>();
  losses.aligned = aligned;
  return losses;
}

class Adaptation {
 public:
  Adaptation(Ensemble& ensemble, const ImageSet& target, const SelectiveOptions& options, Observer& observer,
             Checkpointer& checkpointer)
      : ensemble_(ensemble),
        options_(options),
        observer_(observer),
        checkpointer_(checkpointer),
        images_(target, ensemble.sources.front().device()),
        runner_(ensemble, images_, options_) {
    if (target.size() < 2)
      input_error("the target set has {} picture{}; adaptation needs at least 2", target.size(),
                  target.size() == 1 ? "" : "s");
  }

  // `select(state, initial, round)` chooses what a round trains on.
  template <typename Select>
  void run(Select select) {
    event_.rounds = options_.rounds;
    TargetState state;
    if (const Checkpoint* left_off = checkpointer_.found()) {
      restore(*left_off);
      state = finish_round();
    } else {
      state = first_state(ensemble_, images_, options_);
      event_.initial_confident =
          initial_count(std::get<0>(state.score.max(-1)), options_.lambda_alpha, options_.threshold);
      event_.phases = state.seconds;
      report(state);
    }
    for (++event_.round; event_.round <= options_.rounds; ++event_.round) {
      watch_ = Stopwatch();
      selection_ = select(state, event_.initial_confident, event_.round);
      weights_ = state.weights;
      state = {};  // features of one round are much; those of two at once need not be
      history_.clear();
      event_.pictures = 0;
      state = finish_round();
    }
  }

 private:
  // The steps of the round that are left, and the state they lead to.
  TargetState finish_round() {
    train();
    const double training = watch_.seconds();
    return checkpointer_.during([this] { return checkpoint(); },
                                [&] {
                                  TargetState state = next_state(ensemble_, images_, selection_, weights_, options_);
                                  event_.phases = state.seconds;
                                  event_.phases.training = training;
                                  event_.phases.waiting += waited_;
                                  report(state);
                                  return state;
                                });
  }

  void train() {
    const OwnStream stream(images_.device());
    runner_.begin_round(selection_);
    RoundLoader loader(selection_, options_, event_.round);
    for (size_t done = 0; done < history_.size(); ++done) loader.next();
    auto planned = static_cast<int64_t>(history_.size());
    ReadAhead<StepPlan> plans(loader.steps() - planned, /*ahead=*/!images_.resident(), [&] {
      const int64_t i = ++planned;
      const double factor = options_.schedule == RateSchedule::kDecay ? decay_factor(i, loader.steps()) : 1;
      return runner_.plan(loader.next(), random_of(event_.round, i), factor);
    });
    aligned_ = loader.aligns() && options_.lambda_adv > 0;
    while (static_cast<int64_t>(history_.size()) < loader.steps()) {
      checkpointer_.pass([this] { return checkpoint(); });
      const StepPlan plan = plans.next();
      history_.push_back(runner_.run(plan));
      event_.pictures += ensemble_.size() * runner_.pictures(plan);
      observer_.on_step({event_.round, event_.rounds, static_cast<int64_t>(history_.size()), loader.steps()});
    }
    checkpointer_.pass([this] { return checkpoint(); });
    waited_ = plans.waited();
    event_.trained = &selection_;
    event_.losses = mean_losses();
  }

  MeanLosses mean_losses() const { return means_of(at::stack(history_), ensemble_.size(), aligned_, event_.round); }

  // In the midst of a round. An error where its losses are not finite: what led there is not worth keeping.
  Checkpoint checkpoint() const {
    Checkpoint now;
    now.facts = {{"round", event_.round},
                 {"pictures", event_.pictures},
                 {"initial_confident", event_.initial_confident},
                 {"seconds", watch_.seconds()}};
    now.tensors = {{"confident", selection_.confident},
                   {"unconfident", selection_.unconfident},
                   {"label", selection_.label},
                   {"weights", weights_}};
    if (!history_.empty()) {
      mean_losses();
      now.tensors.push_back({"losses_of_the_round", at::stack(history_)});
    }
    now.add("step.", runner_.state());
    now.add("", ensemble_.state());
    return now;
  }

  void restore(const Checkpoint& left_off) {
    event_.round = left_off.integer("round");
    event_.pictures = left_off.integer("pictures");
    event_.initial_confident = left_off.integer("initial_confident");
    watch_ = Stopwatch(left_off.facts.value("seconds", 0.0));
    const auto here = [&](const char* name) { return left_off.at(name).to(images_.device()); };
    selection_ = {here("label"), here("confident"), here("unconfident")};
    if (selection_.label.numel() != images_.size())
      input_error("the checkpoint is of {} pictures, and there are {}; start over with --restart",
                  selection_.label.numel(), images_.size());
    weights_ = here("weights");
    if (const Tensor* history = left_off.find("losses_of_the_round")) history_ = history->to(images_.device()).unbind();
    left_off.restore("step.", runner_.state());
    left_off.restore("", ensemble_.state());
  }

  StepRandom random_of(int64_t round, int64_t step) const {
    const auto seed = static_cast<uint64_t>(options_.seed);
    const auto r = static_cast<uint64_t>(round), i = static_cast<uint64_t>(step);
    return {Random(seed, Purpose::kAugment, {r, i, 0}), Random(seed, Purpose::kAugment, {r, i, 1}),
            Random(seed, Purpose::kMixup, {r, i}), Random(seed, Purpose::kDropout, {r, i})};
  }

  void report(const TargetState& state) {
    ensemble_.mixture = weighted_mixture(state.weights, options_.aggregation.space, options_.aggregation.scale);
    synchronise(images_.device());
    event_.seconds = watch_.seconds();
    event_.ensemble = &ensemble_;
    event_.features = state.features;
    event_.logits = state.logits;
    event_.probabilities = state.probabilities;
    event_.score = state.score;
    event_.weights = state.weights;
    observer_.on_round(event_);
    event_.features.clear();
  }

  Ensemble& ensemble_;
  const SelectiveOptions& options_;
  Observer& observer_;
  Checkpointer& checkpointer_;
  DeviceImages images_;
  StepRunner runner_;
  RoundEvent event_;
  Stopwatch watch_;  // of the round
  // Of the round: what it trains on, the domain weights it began with, the losses of its steps.
  Selection selection_;
  Tensor weights_;
  std::vector<Tensor> history_;
  bool aligned_ = false;
  double waited_ = 0;  // seconds of its training, for pictures
};

}  // namespace

void SelectiveSelfTraining::adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer,
                                  Checkpointer& checkpointer) {
  Adaptation(ensemble, target, options_, observer, checkpointer)
      .run([&](const TargetState& state, int64_t initial, int64_t round) {
        return select_for_round(state, initial, round, options_);
      });
}

void adapt_with_oracle(Ensemble& ensemble, const ImageSet& target, const Labels& oracle,
                       const SelectiveOptions& options, Observer& observer, Checkpointer& checkpointer) {
  if (static_cast<int64_t>(oracle.values.size()) != target.size())
    input_error("the oracle has {} labels for {} target pictures", oracle.values.size(), target.size());
  const Tensor truth = torch::tensor(oracle.values, torch::kInt64).to(ensemble.sources.front().device());
  Adaptation(ensemble, target, options, observer, checkpointer).run([&](const TargetState& state, int64_t, int64_t) {
    Selection selection = select_with_oracle(state.score, truth);
    return selection.confident.size(0) >= 2 ? selection : select_confident(state.score, 2);
  });
}

}  // namespace tributary

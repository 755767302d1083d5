#include "tributary/methods/selective/selective.h"

#include <fmt/format.h>

#include <optional>

#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/stopwatch.h"
#include "tributary/checkpoint/state_checks.h"
#include "tributary/device/device.h"
#include "tributary/methods/selective/model_average.h"
#include "tributary/methods/selective/selective_task.h"
#include "tributary/methods/selective/student.h"
#include "tributary/methods/selective/target_state.h"
#include "tributary/train/gathered_rows.h"

namespace tributary {
namespace {

// `means` are those of `SelectiveTask::loss_terms`.
MeanLosses named_losses(const std::vector<double>& means, int64_t sources, bool aligned) {
  const auto first = means.begin();
  MeanLosses losses;
  losses.cross_entropy.assign(first, first + sources);
  losses.information.assign(first + sources, first + 2 * sources);
  losses.adversarial = *(first + 2 * sources);
  losses.discriminator = *(first + 2 * sources + 1);
  losses.aligned = aligned;
  return losses;
}

// The weight of every sample's cross-entropy: its confidence, scaled to mean 1 over the selected samples.
Tensor weights_of(const Selection& selection, const TargetState& state) {
  const Tensor confidence = state.rows.gather(std::get<0>(state.score.max(-1)).to(torch::kFloat32));
  return confidence / confidence.index_select(0, selection.confident).mean().clamp_min(1e-30);
}

class Adaptation {
 public:
  Adaptation(Ensemble& ensemble, const ImageSet& target, const SelectiveOptions& options, const GivenLabels& given,
             Observer& observer, Checkpointer& checkpointer)
      : ensemble_(ensemble),
        options_(options),
        observer_(observer),
        checkpointer_(checkpointer),
        images_(target, ensemble.sources.front().device()),
        rows_(ensemble.comm(), images_.size()),
        given_(given.on(images_.device())),
        task_(ensemble, images_, options_, weights_samples()),
        loop_(task_, images_, task_.loop_options()) {
    if (target.size() < 2)
      input_error("the target set has {} picture{}; adaptation needs at least 2", target.size(),
                  target.size() == 1 ? "" : "s");
    if (options_.cross_labels && !ensemble_.fixed.empty())
      input_error("--cross-labels needs models, but of {} there are only scores; leave it out",
                  ensemble_.fixed[0].scores.path);
  }

  // The given labels, on the device.
  const GivenLabels& given() const { return given_; }

  // `select(state, initial, round)` chooses what a round trains on.
  template <typename Select>
  void run(Select select) {
    event_.rounds = options_.rounds;
    event_.alignment = options_.lambda_adv > 0;
    TargetState state;
    const Checkpoint* const from = checkpointer_.resume_point();
    if (from && from->integer("round", 0, options_.rounds) > 0) {
      restore(*from);
      state = finish_round();
    } else {
      state = ensemble_.has_student ? teach_student(from) : first_state(ensemble_, images_, options_, given_);
      event_.initial_confident =
          initial_count(std::get<0>(state.score.max(-1)), options_.lambda_alpha, options_.threshold, state.rows);
      event_.phases = state.seconds;
      event_.largest_share = state.largest_share;
      if (leaves_untrained(state, options_))
        event_.finished = fmt::format(
            "one class has {:.0f} % of the pictures by the unadapted sources' labels, and training on such a set loses "
            "accuracy",
            100 * state.largest_share);
      report(state);
      if (!event_.finished.empty()) return;
      if (options_.model_average > 0) average_.emplace(ensemble_);
    }
    for (++event_.round; event_.round <= options_.rounds && !ensemble_.agreed(observer_.wants_stop()); ++event_.round) {
      watch_ = Stopwatch();
      selection_ = select(state, event_.initial_confident, event_.round);
      memory_ = memory_of(state, ensemble_, options_);
      if (options_.sample_weights) sample_weight_ = weights_of(selection_, state);
      if (!given_.empty())
        sample_weight_ = given_sample_weights(images_.size(), given_, options_.given_weight, sample_weight_);
      state = {};  // free the previous round's features before computing new ones
      event_.pictures = 0;
      begin_round();
      state = finish_round();
    }
  }

 private:
  // Whether samples differ in the weight of their cross-entropy.
  bool weights_samples() const { return options_.sample_weights || !given_.empty(); }

  // Trains the student on the labels of the other members, and returns the state of all of them.
  TargetState teach_student(const Checkpoint* from) {
    TargetFacts facts;
    Tensor labels;
    if (from) {
      facts = {from->number("largest_share", 0), from->number("trust", 0), from->integer("dominated", 0, 1) != 0};
      const Tensor& teacher = from->at("teacher");
      require_numbers(teacher, {images_.size(), static_cast<int64_t>(ensemble_.classes().size())}, "teacher");
      labels = own_copy(teacher);
    } else {
      const TargetState teachers = first_state(ensemble_, images_, options_, given_);
      facts = {teachers.largest_share, teachers.trust, teachers.dominated};
      labels = teacher_labels(teachers);
      if (!rows_.divided()) ensemble_.synchronise({{"teacher", labels}});
    }
    StudentTask task(ensemble_.sources.back(), labels, options_, rows_);
    TrainingLoop loop(task, images_, task.loop_options());
    loop.start(task.steps());
    if (from) {
      watch_ = Stopwatch(from->number("seconds", 0));
      from->restore("", ensemble_.state());
      from->restore("optimiser.", task.state());
      loop.restore(*from, "loop.");
    }
    const auto take = [&] {
      Checkpoint now;
      now.facts() = {{"round", 0},
                     {"seconds", watch_.seconds()},
                     {"largest_share", facts.largest_share},
                     {"trust", facts.trust},
                     {"dominated", facts.dominated ? 1 : 0}};
      if (const Tensor teacher = rows_on_first(task.labels(), rows_); teacher.defined())
        now.tensors = {{"teacher", teacher}};
      loop.save(now, "loop.");
      now.add("optimiser.", task.state());
      now.add("", ensemble_.state());
      return now;
    };
    loop.run(loop.steps(), checkpointer_, take, [&](std::span<const int64_t>) {
      observer_.on_step({/*round=*/0, event_.rounds, loop.done(), loop.steps()});
    });
    loop.require_finite();
    return taught_state(ensemble_, images_, facts, options_, given_);
  }

  // What the student learns, [n, K], own rows: the labels that the other members give.
  Tensor teacher_labels(const TargetState& teachers) const {
    const Tensor share = normalised_weights(teachers.weights);
    return with_given_scores(combine(teachers.logits, {Combination::kWeightedLogits, share}),
                             given_.of_rows(teachers.rows));
  }

  void begin_round() {
    if (average_) average_->hold_trained();
    task_.begin_round(selection_, sample_weight_, memory_.prior, event_.round);
    loop_.start(task_.batches().steps());
    loop_.begin_round(event_.round);
  }

  // Runs the remaining steps of the round, then evaluates and reports; returns the new state.
  TargetState finish_round() {
    train();
    const double training = watch_.seconds();
    return checkpointer_.interruptible([this] { return checkpoint(); },
                                       [&] {
                                         if (average_) average_->hold_average();
                                         TargetState state =
                                             next_state(ensemble_, images_, selection_, memory_, options_, given_);
                                         event_.phases = state.seconds;
                                         event_.phases.training = training;
                                         event_.phases.waiting += loop_.waited();
                                         report(state);
                                         return state;
                                       });
  }

  void train() {
    const auto take = [this] { return checkpoint(); };
    loop_.run(loop_.steps(), checkpointer_, take, [this](std::span<const int64_t> batch_sizes) {
      if (average_) average_->update(decay_per_step(options_.model_average, loop_.steps()));
      event_.pictures += ensemble_.size() * task_.pictures(batch_sizes);
      observer_.on_step({event_.round, event_.rounds, loop_.done(), loop_.steps()});
    });
    checkpointer_.save_if_due(take);
    event_.trained = &selection_;
    event_.losses = named_losses(loop_.mean_losses(), ensemble_.size(),
                                 /*aligned=*/task_.batches().aligns() && event_.alignment);
  }

  // The state between two steps. Throws if a loss of the round is not finite, so that a diverged state is never saved.
  Checkpoint checkpoint() {
    if (average_) average_->hold_trained();  // after an interrupted evaluation
    Checkpoint now;
    now.facts() = {{"round", event_.round},
                   {"pictures", event_.pictures},
                   {"initial_confident", event_.initial_confident},
                   {"seconds", watch_.seconds()}};
    if (options_.has_class_prior()) now.facts()["trust"] = memory_.trust;
    now.tensors = {{"confident", selection_.confident},
                   {"unconfident", selection_.unconfident},
                   {"label", selection_.label},
                   {"weights", memory_.weights}};
    const auto keep = [&](const char* name, const Tensor& value) {
      if (value.defined()) now.tensors.push_back({name, value});
    };
    keep("score", memory_.score.defined() ? rows_on_first(memory_.score, rows_) : Tensor());
    keep("prior", memory_.prior);
    keep("prediction", memory_.prediction.defined() ? rows_.gather(memory_.prediction) : Tensor());
    keep("sample_weight", sample_weight_);
    keep("source_label", selection_.source_label);
    if (average_) now.add("average.", average_->state());
    loop_.save(now, "loop.");
    now.add("step.", task_.state());
    now.add("", ensemble_.state());
    return now;
  }

  // The own rows of a checkpoint's tensor, on the device, without its other rows.
  Tensor own_copy(const Tensor& whole) const {
    const Tensor own = rows_.own(whole);
    return rows_.divided() ? own.clone().to(images_.device()) : own.to(images_.device());
  }

  void restore(const Checkpoint& from) {
    const int64_t n = images_.size(), classes = static_cast<int64_t>(ensemble_.classes().size());
    event_.round = from.integer("round", 1, options_.rounds);
    event_.pictures = from.integer("pictures");
    event_.initial_confident = from.integer("initial_confident", 0, n);
    watch_ = Stopwatch(from.number("seconds", 0));
    const auto here = [&](const char* name) { return from.at(name).to(images_.device()); };
    selection_ = {here("label"), here("confident"), here("unconfident")};
    require_integers(selection_.label, {n}, Selection::kUnlabelled, classes, "label");
    require_integers(selection_.confident, {-1}, 0, n, "confident");
    require_in_checkpoint(selection_.confident.numel() > 0 && selection_.confident.numel() <= n, "confident");
    require_integers(selection_.unconfident, {n - selection_.confident.numel()}, 0, n, "unconfident");
    memory_.weights = here("weights");
    require_numbers(memory_.weights, {ensemble_.members()}, "weights");
    if (options_.score_memory > 0) {
      require_numbers(from.at("score"), {n, classes}, "score");
      memory_.score = own_copy(from.at("score"));
    }
    if (options_.has_class_prior()) {
      memory_.trust = from.number("trust", 0);
      if (from.find("prior")) {
        memory_.prior = here("prior");
        require_numbers(memory_.prior, {classes}, "prior");
      }
    }
    if (options_.class_cap > 0) {
      require_integers(from.at("prediction"), {n}, 0, classes, "prediction");
      memory_.prediction = own_copy(from.at("prediction"));
    }
    if (weights_samples()) {
      sample_weight_ = here("sample_weight");
      require_numbers(sample_weight_, {n}, "sample_weight");
    }
    if (options_.cross_labels && from.find("source_label")) {
      selection_.source_label = here("source_label");
      require_integers(selection_.source_label, {ensemble_.size(), n}, Selection::kUnlabelled, classes, "source_label");
    }
    begin_round();
    loop_.restore(from, "loop.");
    from.restore("step.", task_.state());
    from.restore("", ensemble_.state());
    if (options_.model_average > 0) {
      average_.emplace(ensemble_);
      from.restore("average.", average_->state());
    }
  }

  void report(const TargetState& state) {
    ensemble_.mixture = ensemble_.deployed(state.mixture);
    synchronise(images_.device());
    event_.seconds = watch_.seconds();
    event_.ensemble = &ensemble_;
    event_.rows = state.rows;
    event_.features = state.features;
    event_.logits = state.logits;
    event_.probabilities = ensemble_.fixed.empty() ? state.probabilities : combine(state.own_logits, ensemble_.mixture);
    event_.score = state.score;
    event_.weights = state.weights;
    observer_.on_round(event_);
    // Free what the next round computes again.
    event_.features.clear();
    event_.logits = event_.probabilities = event_.score = Tensor();
  }

  Ensemble& ensemble_;
  const SelectiveOptions& options_;
  Observer& observer_;
  Checkpointer& checkpointer_;
  DeviceImages images_;
  RowBlock rows_;  // that this rank keeps of the target set
  GivenLabels given_;
  SelectiveTask task_;
  TrainingLoop loop_;
  RoundEvent event_;
  Stopwatch watch_;  // of the round
  // What the round trains on, and what it has from the round before.
  Selection selection_;
  Tensor sample_weight_;  // float [n]; undefined if all are 1
  std::optional<ModelAverage> average_;
  RoundMemory memory_;
};

}  // namespace

void SelectiveSelfTraining::adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer,
                                  Checkpointer& checkpointer) {
  Adaptation adaptation(ensemble, target, options_, given_, observer, checkpointer);
  adaptation.run([&](const TargetState& state, int64_t initial, int64_t round) {
    return select_for_round(state, initial, round, options_, adaptation.given());
  });
}

void adapt_with_oracle(Ensemble& ensemble, const ImageSet& target, const Labels& oracle,
                       const SelectiveOptions& options, Observer& observer, Checkpointer& checkpointer) {
  if (static_cast<int64_t>(oracle.values.size()) != target.size())
    input_error("the oracle has {} labels for {} target pictures", oracle.values.size(), target.size());
  const Tensor truth = torch::tensor(oracle.values, torch::kInt64).to(ensemble.sources.front().device());
  Adaptation(ensemble, target, options, /*given=*/{}, observer, checkpointer)
      .run([&](const TargetState& state, int64_t, int64_t) {
        Selection selection = select_with_oracle(state.score, truth, state.rows);
        return selection.confident.size(0) >= 2 ? selection : select_confident(state.score, 2, state.rows);
      });
}

}  // namespace tributary

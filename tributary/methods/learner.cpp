#include "tributary/methods/learner.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "tributary/base/beta_draw.h"
#include "tributary/base/error.h"
#include "tributary/base/stopwatch.h"
#include "tributary/checkpoint/state_checks.h"
#include "tributary/device/device.h"
#include "tributary/train/sampler.h"
#include "tributary/train/schedule.h"
#include "tributary/train/training_loop.h"

namespace tributary {
namespace {

int64_t steps_of(const TrainingSchedule& schedule, int64_t pictures) {
  if (schedule.steps > 0) return schedule.steps;
  const int64_t whole = std::max<int64_t>(1, pictures / schedule.batch);
  return schedule.rounds * (schedule.whole_batches ? whole : batches_per_epoch(pictures, schedule.batch));
}

// The training of one learner: its batches, steps and losses.
class LearnerTask : public TrainingTask {
 public:
  // `number` is the index of the learner, and part of every random key.
  LearnerTask(Learner& learner, const Ensemble& ensemble, const DeviceImages& images, const TrainingSchedule& schedule,
              uint64_t number)
      : learner_(learner),
        ensemble_(ensemble),
        schedule_(schedule),
        number_(number),
        batch_(std::min(schedule.batch, images.size())),
        sampler_(torch::arange(images.size()), batch_, Random(schedule.seed, Purpose::kShuffle, {number})),
        loop_(*this, images, loop_options()) {
    loop_.start(steps_of(schedule, images.size()));
  }

  TrainingLoop& loop() { return loop_; }
  // The number of steps after `round` rounds.
  int64_t end_of(int64_t round) const { return loop_.steps() * round / schedule_.rounds; }

  void begin_round(int64_t round, const std::vector<Outputs>& target) {
    loop_.begin_round(round);
    learner_.begin_round(round, target);
    ensemble_.synchronise(learner_.state());
  }

  void save(Checkpoint& checkpoint) const {
    loop_.save(checkpoint, prefix() + "loop.");
    checkpoint.add(prefix(), learner_.state());
  }

  void restore(const Checkpoint& checkpoint, int64_t round) {
    loop_.begin_round(round);
    loop_.restore(checkpoint, prefix() + "loop.");
    checkpoint.restore(prefix(), learner_.state());
    const auto classes = static_cast<int64_t>(ensemble_.classes().size());
    for (const NamedTensor& tensor : learner_.state())  // integers are labels, or counters without dimensions
      if (tensor.value.scalar_type() == torch::kInt64)
        require_integers(tensor.value, tensor.value.sizes().vec(), 0, tensor.value.dim() == 0 ? INT32_MAX : classes,
                         tensor.name);
  }

  std::vector<std::string> loss_terms() const override {
    std::vector<std::string> terms;
    for (const std::string& name : learner_.losses())
      terms.push_back(fmt::format("{} loss of source {}", name, number_));
    return terms;
  }

  StepDraws draw(int64_t step) override {
    const auto key = static_cast<uint64_t>(step);
    Tensor rows = sampler_.next();
    while (schedule_.whole_batches && rows.size(0) < batch_) rows = sampler_.next();
    StepDraws draws;
    Tensor partner;
    if (const double alpha = learner_.mixup_alpha(); alpha > 0) {
      Random mixing(schedule_.seed, Purpose::kMixup, {number_, key});
      partner = torch::tensor(mixing.permutation(rows.size(0)), torch::kInt64);
      Tensor ratio = torch::empty({rows.size(0)}, torch::kFloat32);
      for (int64_t i = 0; i < rows.size(0); ++i)
        ratio.data_ptr<float>()[i] = static_cast<float>(beta_draw(mixing, alpha));
      draws.indices = {partner, ratio};
    }
    draws.batches.push_back({rows, Random(schedule_.seed, Purpose::kAugment, {number_, key}),
                             needed_rows(ensemble_.sources, rows.size(0), partner)});
    const double factor = schedule_.decay ? decay_factor(step - 1 + schedule_.first_step, loop_.steps()) : 1;
    draws.reals = {static_cast<float>(factor), static_cast<float>(step - 1)};
    const Random dropout(schedule_.seed, Purpose::kDropout, {number_, key});
    for (int64_t i = 0; i < learner_.dropout_streams(); ++i)
      draws.dropout.push_back(dropout.child(static_cast<uint64_t>(i)));
    return draws;
  }

  void before_step(int64_t step) override {
    const int64_t every = learner_.refresh_every();
    if (every == 0 || (step - 1) % every != 0) return;
    learner_.refresh((step - 1) / every);
    ensemble_.synchronise(learner_.state());
  }

  Tensor step(const StepInputs& inputs) override {
    const auto& [rows, pixels] = inputs.batches.front();
    TargetBatch batch{rows, pixels, inputs.real(0), inputs.real(1), inputs.dropout_stream};
    if (mixes()) {
      batch.partner = inputs.index(0);
      batch.ratio = inputs.index(1);
    }
    return learner_.step(batch);
  }

 private:
  LoopOptions loop_options() const {
    LoopOptions loop;
    loop.batch = batch_;
    loop.augmentation = schedule_.augmentation;
    loop.cuda_graph = schedule_.cuda_graph;
    loop.one_draw_per_batch = schedule_.one_draw_per_batch;
    loop.indices = mixes() ? 2 : 0;
    return loop;
  }
  bool mixes() const { return learner_.mixup_alpha() > 0; }
  std::string prefix() const { return fmt::format("learner.{}.", number_); }

  Learner& learner_;
  const Ensemble& ensemble_;
  const TrainingSchedule& schedule_;
  uint64_t number_;
  int64_t batch_;
  Sampler sampler_;
  TrainingLoop loop_;
};

// An adaptation: trains all learners, round by round.
class LearnedAdaptation {
 public:
  LearnedAdaptation(Ensemble& ensemble, const DeviceImages& images, const TrainingSchedule& schedule,
                    const std::vector<std::unique_ptr<Learner>>& learners, std::function<Mixture()> mixture,
                    Observer& observer, Checkpointer& checkpointer)
      : ensemble_(ensemble),
        images_(images),
        schedule_(schedule),
        learners_(learners),
        mixture_(std::move(mixture)),
        observer_(observer),
        checkpointer_(checkpointer) {
    for (const auto& learner : learners_)
      tasks_.push_back(std::make_unique<LearnerTask>(*learner, ensemble_, images_, schedule_, tasks_.size()));
    event_.rounds = schedule_.rounds;
    event_.ensemble = &ensemble_;
  }

  void run() {
    if (const Checkpoint* from = checkpointer_.resume_point()) {
      restore(*from);
      finish_round();
    } else {
      evaluate_and_report();
    }
    for (++event_.round; event_.round <= schedule_.rounds && !stops(); ++event_.round) {
      watch_ = Stopwatch();
      event_.pictures = 0;
      for (const auto& task : tasks_) task->begin_round(event_.round, outputs_);
      outputs_.clear();  // free the previous round's features before computing new ones
      event_.features.clear();
      finish_round();
    }
  }

 private:
  bool stops() const { return ensemble_.agreed(observer_.wants_stop()); }

  // Runs the remaining steps of the round, then evaluates and reports.
  void finish_round() {
    train();
    event_.phases.training = watch_.seconds();
    checkpointer_.interruptible([this] { return checkpoint(); }, [this] { evaluate_and_report(); });
  }

  void train() {
    const auto take = [this] { return checkpoint(); };
    StepEvent progress{event_.round, event_.rounds, 0, 0};
    for (const auto& task : tasks_) {
      progress.steps += task->end_of(event_.round) - task->end_of(event_.round - 1);
      progress.step += task->loop().done() - task->end_of(event_.round - 1);
    }
    for (const auto& task : tasks_)
      task->loop().run(task->end_of(event_.round), checkpointer_, take, [&](std::span<const int64_t> batch_sizes) {
        event_.pictures += batch_sizes.front();
        ++progress.step;
        observer_.on_step(progress);
      });
    checkpointer_.save_if_due(take);
    event_.means.clear();
    for (size_t j = 0; j < tasks_.size(); ++j) {
      const std::vector<double> means = tasks_[j]->loop().mean_losses();
      const std::vector<std::string> names = learners_[j]->losses();
      for (size_t i = 0; i < names.size(); ++i) event_.means[names[i]].push_back(means[i]);
    }
  }

  void evaluate_and_report() {
    const Stopwatch evaluation;
    outputs_ = evaluate(ensemble_.sources, images_, is_mixed(schedule_.precision), &event_.phases.waiting);
    for (const auto& task : tasks_) event_.phases.waiting += task->loop().waited();
    std::vector<Tensor> logits;
    event_.features.clear();
    for (const Outputs& source : outputs_) {
      event_.features.push_back(source.features);
      logits.push_back(source.logits);
    }
    ensemble_.mixture = mixture_();
    event_.logits = ensemble_.stacked(logits);
    event_.probabilities = combine(event_.logits, ensemble_.mixture);
    event_.weights = ensemble_.mixture.weights;
    synchronise(images_.device());
    event_.phases.evaluation = evaluation.seconds();
    event_.seconds = watch_.seconds();
    observer_.on_round(event_);
  }

  // The state between two steps. Throws if a loss of the round is not finite, so that a diverged state is never saved.
  Checkpoint checkpoint() const {
    Checkpoint now;
    now.facts() = {{"round", event_.round}, {"pictures", event_.pictures}, {"seconds", watch_.seconds()}};
    for (const auto& task : tasks_) task->save(now);
    now.add("", ensemble_.state());
    return now;
  }

  void restore(const Checkpoint& from) {
    event_.round = from.integer("round", 1, schedule_.rounds);
    event_.pictures = from.integer("pictures");
    watch_ = Stopwatch(from.number("seconds", 0));
    from.restore("", ensemble_.state());
    for (const auto& task : tasks_) task->restore(from, event_.round);
  }

  Ensemble& ensemble_;
  const DeviceImages& images_;
  const TrainingSchedule& schedule_;
  const std::vector<std::unique_ptr<Learner>>& learners_;
  std::function<Mixture()> mixture_;
  Observer& observer_;
  Checkpointer& checkpointer_;
  std::vector<std::unique_ptr<LearnerTask>> tasks_;
  RoundEvent event_;
  std::vector<Outputs> outputs_;  // of the last evaluation
  Stopwatch watch_;               // time of the current round
};

}  // namespace

void LearnedMethod::adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Checkpointer& checkpointer) {
  if (target.size() < 2)
    input_error("the target set has {} picture{}; adaptation needs at least 2", target.size(),
                target.size() == 1 ? "" : "s");
  const DeviceImages images(target, ensemble.sources.front().device());
  TrainingSchedule own = schedule(ensemble, images.size());
  for (const SourceModel& source : ensemble.sources) own.cuda_graph = own.cuda_graph && source.capturable();
  const std::vector<std::unique_ptr<Learner>> all = learners(ensemble, images, own);
  LearnedAdaptation(
      ensemble, images, own, all, [this] { return mixture(); }, observer, checkpointer)
      .run();
}

}  // namespace tributary

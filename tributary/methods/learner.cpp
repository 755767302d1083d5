#include "tributary/methods/learner.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "tributary/base/error.h"
#include "tributary/base/stopwatch.h"
#include "tributary/device/device.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

int64_t steps_of(const Course& course, int64_t pictures) {
  if (course.steps > 0) return course.steps;
  const int64_t whole = std::max<int64_t>(1, pictures / course.batch);
  return course.rounds * (course.whole_batches ? whole : batches_per_epoch(pictures, course.batch));
}

// Every rank makes its own labels. On a GPU the order of sums may differ, and with it the labels.
void synchronise_state(const Learner& learner, std::span<const SourceModel> sources) {
  Communicator* const comm = sources.front().sharding().comm;
  if (comm && sources.front().device().is_cuda()) broadcast_state(*comm, learner.state());
}

// The parts of a plan and its real numbers.
enum Part : size_t { kRows, kCrops };
enum Real : size_t { kRateFactor, kProgress };

// One learner on its way: its batches, its steps, its losses.
class Way {
 public:
  Way(Learner& learner, std::span<const SourceModel> sources, const DeviceImages& images, const Course& course,
      uint64_t number)
      : learner_(learner),
        sources_(sources),
        images_(images),
        course_(course),
        number_(number),
        batch_(std::min(course.batch, images.size())),
        steps_(steps_of(course, images.size())),
        sampler_(torch::arange(images.size()), batch_, Random(course.seed, Purpose::kShuffle, {number})),
        captured_(images.device(),
                  course.cuda_graph && course.augmentation.shift == 0 && course.augmentation.rotation == 0,
                  [this](const StepPlan& plan, std::vector<DropoutStream>& dropout_stream) {
                    return step(plan, dropout_stream);
                  }) {}

  // The last step of `round`.
  int64_t end_of(int64_t round) const { return steps_ * round / course_.rounds; }
  int64_t steps_in(int64_t round) const { return end_of(round) - end_of(round - 1); }
  int64_t done() const { return done_; }
  double waited() const { return waited_; }  // seconds of the round, for pictures

  void begin_round(int64_t round, const std::vector<Outputs>& target) {
    history_.clear();
    waited_ = 0;
    learner_.begin_round(round, target);
  }

  // One step; the number of its pictures.
  int64_t advance() {
    if (const int64_t every = learner_.refresh_every(); every > 0 && done_ % every == 0) refresh(done_ / every);
    const StepPlan plan = next_plan();
    const int64_t pictures = plan.part(kRows).size(0);
    history_.push_back(captured_.run(plan, /*usual=*/pictures == batch_));
    ++done_;
    return pictures;
  }

  // The mean losses of the round's steps. An error where one of them is not finite.
  std::vector<double> means(int64_t round) const {
    const std::vector<std::string> names = learner_.losses();
    if (history_.empty()) return std::vector<double>(names.size(), 0);
    const Tensor host = at::stack(history_).to(torch::kCPU, torch::kFloat64);
    const Tensor bad = host.isfinite().logical_not().nonzero();
    if (bad.size(0) > 0)
      work_error("round {}, step {}: the {} loss of source {} is not finite; try smaller learning rates", round,
                 bad[0][0].item<int64_t>() + 1, names[static_cast<size_t>(bad[0][1].item<int64_t>())], number_);
    const Tensor mean = host.mean(0).contiguous();
    return {mean.data_ptr<double>(), mean.data_ptr<double>() + mean.numel()};
  }

  void add_to(Checkpoint& checkpoint) const {
    checkpoint.facts["done"].push_back(done_);
    checkpoint.add(prefix(), learner_.state());
    if (!history_.empty()) checkpoint.tensors.push_back({prefix() + kHistory, at::stack(history_)});
  }

  void restore(const Checkpoint& checkpoint, const torch::Device& device) {
    checkpoint.restore(prefix(), learner_.state());
    if (const Tensor* history = checkpoint.find(prefix() + kHistory)) history_ = history->to(device).unbind();
    const int64_t done = checkpoint.facts.at("done").at(number_);
    while (done_ < done) {
      next_rows();
      ++done_;
    }
  }

 private:
  void refresh(int64_t number) {
    learner_.refresh(number);
    synchronise_state(learner_, sources_);
  }

  static constexpr const char* kHistory = "losses_of_the_round";
  std::string prefix() const { return fmt::format("learner.{}.", number_); }

  Tensor next_rows() {
    Tensor rows = sampler_.next();
    while (course_.whole_batches && rows.size(0) < batch_) rows = sampler_.next();
    return rows;
  }

  StepPlan next_plan() {
    const auto step = static_cast<uint64_t>(done_ + 1);
    const Tensor rows = next_rows();
    moving_ = Random(course_.seed, Purpose::kAugment, {number_, step});
    std::vector<Random> dropout_streams;
    const Random dropout(course_.seed, Purpose::kDropout, {number_, step});
    for (int64_t i = 0; i < learner_.dropout_streams(); ++i)
      dropout_streams.push_back(dropout.child(static_cast<uint64_t>(i)));
    const double factor = course_.decay ? decay_factor(done_ + course_.first_step, steps_) : 1;
    StepPlan plan({rows, images_.draw_crops(rows.size(0), course_.augmentation, moving_)},
                  {static_cast<float>(factor), static_cast<float>(done_)}, dropout_streams);
    if (!images_.resident()) {
      const Stopwatch variant;
      plan.carry(images_.fetch(rows, needed_rows(sources_, rows.size(0))));
      waited_ += variant.seconds();
    }
    return plan;
  }

  Tensor step(const StepPlan& plan, std::vector<DropoutStream>& dropout_stream) {
    const Augmentation& changes = course_.augmentation;
    const Tensor rows = plan.part(kRows);
    const Tensor pixels = changes.shift > 0 || changes.rotation > 0 ? images_.augmented(rows, changes, moving_)
                          : plan.pictures().defined()
                              ? images_.apply_crops_to(plan.pictures(), plan.part(kCrops), changes)
                              : images_.apply_crops(rows, plan.part(kCrops), changes);
    return learner_.step({rows, pixels.contiguous(at::MemoryFormat::ChannelsLast), plan.real(kRateFactor),
                          plan.real(kProgress), dropout_stream});
  }

  Learner& learner_;
  std::span<const SourceModel> sources_;
  const DeviceImages& images_;
  const Course& course_;
  uint64_t number_;
  double waited_ = 0;
  int64_t batch_, steps_, done_ = 0;
  std::vector<Tensor> history_;  // losses of the round's steps
  Sampler sampler_;
  Random moving_{0};
  CapturedSteps captured_;
};

// All learners of an adaptation, round by round.
class Learning {
 public:
  using Mixed = std::function<Mixture()>;

  Learning(Ensemble& ensemble, const DeviceImages& images, const Course& course,
           const std::vector<std::unique_ptr<Learner>>& learners, Mixed mixture, Observer& observer,
           Checkpointer& checkpointer)
      : ensemble_(ensemble),
        images_(images),
        course_(course),
        learners_(learners),
        mixture_(std::move(mixture)),
        observer_(observer),
        checkpointer_(checkpointer) {
    for (const auto& learner : learners_)
      ways_.push_back(std::make_unique<Way>(*learner, ensemble_.sources, images_, course_, ways_.size()));
    event_.rounds = course_.rounds;
    event_.ensemble = &ensemble_;
  }

  void run() {
    if (const Checkpoint* left_off = checkpointer_.found()) {
      restore(*left_off);
      finish_round();
    } else {
      evaluate_and_report();
    }
    for (++event_.round; event_.round <= course_.rounds; ++event_.round) {
      watch_ = Stopwatch();
      event_.pictures = 0;
      for (const auto& way : ways_) way->begin_round(event_.round, outputs_);
      for (const auto& learner : learners_) synchronise_state(*learner, ensemble_.sources);
      outputs_.clear();  // features of one round are much; those of two at once need not be
      event_.features.clear();
      finish_round();
    }
  }

 private:
  // The steps of the round that are left, and what comes of them.
  void finish_round() {
    train();
    event_.phases.training = watch_.seconds();
    checkpointer_.during([this] { return checkpoint(); }, [this] { evaluate_and_report(); });
  }

  void train() {
    const OwnStream stream(images_.device());
    StepEvent place{event_.round, event_.rounds, 0, 0};
    for (const auto& way : ways_) {
      place.steps += way->steps_in(event_.round);
      place.step += way->done() - way->end_of(event_.round - 1);
    }
    for (const auto& way : ways_) {
      while (way->done() < way->end_of(event_.round)) {
        checkpointer_.pass([this] { return checkpoint(); });
        event_.pictures += way->advance();
        ++place.step;
        observer_.on_step(place);
      }
    }
    checkpointer_.pass([this] { return checkpoint(); });
    event_.means.clear();
    for (size_t j = 0; j < ways_.size(); ++j) {
      const std::vector<double> means = ways_[j]->means(event_.round);
      const std::vector<std::string> names = learners_[j]->losses();
      for (size_t i = 0; i < names.size(); ++i) event_.means[names[i]].push_back(means[i]);
    }
  }

  void evaluate_and_report() {
    const Stopwatch evaluation;
    outputs_ = evaluate(ensemble_.sources, images_, is_mixed(course_.precision), &event_.phases.waiting);
    for (const auto& way : ways_) event_.phases.waiting += way->waited();
    std::vector<Tensor> logits;
    event_.features.clear();
    for (const Outputs& source : outputs_) {
      event_.features.push_back(source.features);
      logits.push_back(source.logits);
    }
    ensemble_.mixture = mixture_();
    event_.logits = at::stack(logits);
    event_.probabilities = combine(event_.logits, ensemble_.mixture);
    event_.weights = ensemble_.mixture.weights;
    synchronise(images_.device());
    event_.phases.evaluation = evaluation.seconds();
    event_.seconds = watch_.seconds();
    observer_.on_round(event_);
  }

  // In the midst of a round. An error where its losses are not finite: what led there is not worth keeping.
  Checkpoint checkpoint() const {
    Checkpoint now;
    now.facts = {{"round", event_.round}, {"pictures", event_.pictures}, {"seconds", watch_.seconds()}};
    for (const auto& way : ways_) {
      way->means(event_.round);
      way->add_to(now);
    }
    now.add("", ensemble_.state());
    return now;
  }

  void restore(const Checkpoint& left_off) {
    event_.round = left_off.integer("round");
    event_.pictures = left_off.integer("pictures");
    watch_ = Stopwatch(left_off.facts.value("seconds", 0.0));
    left_off.restore("", ensemble_.state());
    for (const auto& way : ways_) way->restore(left_off, images_.device());
  }

  Ensemble& ensemble_;
  const DeviceImages& images_;
  const Course& course_;
  const std::vector<std::unique_ptr<Learner>>& learners_;
  Mixed mixture_;
  Observer& observer_;
  Checkpointer& checkpointer_;
  std::vector<std::unique_ptr<Way>> ways_;
  RoundEvent event_;
  std::vector<Outputs> outputs_;  // of the last evaluation
  Stopwatch watch_;               // of the round
};

}  // namespace

void LearnedMethod::adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Checkpointer& checkpointer) {
  if (target.size() < 2)
    input_error("the target set has {} picture{}; adaptation needs at least 2", target.size(),
                target.size() == 1 ? "" : "s");
  const DeviceImages images(target, ensemble.sources.front().device());
  Course way = course(ensemble, images.size());
  for (const SourceModel& source : ensemble.sources) way.cuda_graph = way.cuda_graph && source.capturable();
  const std::vector<std::unique_ptr<Learner>> all = learners(ensemble, images, way);
  Learning(
      ensemble, images, way, all, [this] { return mixture(); }, observer, checkpointer)
      .run();
}

}  // namespace tributary

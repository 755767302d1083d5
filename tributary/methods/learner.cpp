#include "tributary/methods/learner.h"

#include <algorithm>
#include <chrono>

#include "tributary/base/error.h"
#include "tributary/model/device.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int64_t steps_of(const Course& course, int64_t pictures) {
  if (course.steps > 0) return course.steps;
  const int64_t whole = std::max<int64_t>(1, pictures / course.batch);
  return course.rounds * (course.whole_batches ? whole : batches_a_sweep(pictures, course.batch));
}

// The parts of a plan and its real numbers.
enum Part : size_t { kRows, kCut };
enum Real : size_t { kRateFactor, kProgress };

// One learner on its way: its batches, its steps, its losses.
class Way {
 public:
  Way(Learner& learner, const DeviceImages& images, const Course& course, uint64_t number)
      : learner_(learner),
        images_(images),
        course_(course),
        number_(number),
        batch_(std::min(course.batch, images.size())),
        steps_(steps_of(course, images.size())),
        sampler_(torch::arange(images.size()), batch_, Random(course.seed, Purpose::kShuffle, {number})),
        recorded_(images.device(), course.record && course.augmentation.shift == 0 && course.augmentation.rotation == 0,
                  [this](const StepPlan& plan, std::vector<Noise>& noise) { return step(plan, noise); }) {}

  int64_t steps() const { return steps_; }
  // The last step of `round`.
  int64_t end_of(int64_t round) const { return steps_ * round / course_.rounds; }

  // Does the steps of a round and returns their mean losses.
  std::vector<double> run(int64_t round, const std::vector<Outputs>& target, const StepEvent& place, Observer& observer,
                          int64_t& pictures) {
    learner_.begin_round(round, target);
    std::vector<Tensor> history;
    const int64_t first = done_, last = end_of(round);
    while (done_ < last) {
      if (const int64_t every = learner_.refresh_every(); every > 0 && done_ % every == 0) learner_.refresh();
      const StepPlan plan = next_plan();
      pictures += plan.part(kRows).size(0);
      history.push_back(recorded_.run(plan, /*usual=*/plan.part(kRows).size(0) == batch_));
      ++done_;
      observer.on_step({place.round, place.rounds, place.step + done_ - first, place.steps});
    }
    return means_of(history, round);
  }

 private:
  StepPlan next_plan() {
    const auto step = static_cast<uint64_t>(done_ + 1);
    Tensor rows = sampler_.next();
    while (course_.whole_batches && rows.size(0) < batch_) rows = sampler_.next();
    moving_ = Random(course_.seed, Purpose::kAugment, {number_, step});
    std::vector<Random> noises;
    const Random dropout(course_.seed, Purpose::kDropout, {number_, step});
    for (int64_t i = 0; i < learner_.noises(); ++i) noises.push_back(dropout.child(static_cast<uint64_t>(i)));
    const double factor = course_.decay ? decay_factor(done_ + course_.first_step, steps_) : 1;
    StepPlan plan({rows, images_.draw_cut(rows.size(0), course_.augmentation, moving_)},
                  {static_cast<float>(factor), static_cast<float>(done_)}, noises);
    if (!images_.resident()) plan.carry(images_.fetch(rows));
    return plan;
  }

  Tensor step(const StepPlan& plan, std::vector<Noise>& noise) {
    const Augmentation& changes = course_.augmentation;
    const Tensor rows = plan.part(kRows);
    const Tensor pixels = changes.shift > 0 || changes.rotation > 0 ? images_.augmented(rows, changes, moving_)
                          : plan.pictures().defined() ? images_.apply_cut_to(plan.pictures(), plan.part(kCut), changes)
                                                      : images_.apply_cut(rows, plan.part(kCut), changes);
    return learner_.step(
        {rows, pixels.contiguous(at::MemoryFormat::ChannelsLast), plan.real(kRateFactor), plan.real(kProgress), noise});
  }

  std::vector<double> means_of(const std::vector<Tensor>& history, int64_t round) const {
    if (history.empty()) return std::vector<double>(learner_.losses().size(), 0);
    const Tensor host = at::stack(history).to(torch::kCPU, torch::kFloat64);
    const Tensor bad = host.isfinite().logical_not().nonzero();
    if (bad.size(0) > 0)
      work_error("round {}: the {} loss of source {} is not finite; try smaller learning rates", round,
                 learner_.losses()[static_cast<size_t>(bad[0][1].item<int64_t>())], number_);
    const Tensor mean = host.mean(0).contiguous();
    return {mean.data_ptr<double>(), mean.data_ptr<double>() + mean.numel()};
  }

  Learner& learner_;
  const DeviceImages& images_;
  const Course& course_;
  uint64_t number_;
  int64_t batch_, steps_, done_ = 0;
  Sampler sampler_;
  Random moving_{0};
  RecordedSteps recorded_;
};

}  // namespace

void LearnedMethod::adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer) {
  if (target.size() < 2)
    input_error("the target set has {} picture{}; adaptation needs at least 2", target.size(),
                target.size() == 1 ? "" : "s");
  const torch::Device device = ensemble.sources.front().device();
  const DeviceImages images(target, device);
  Course way = course(ensemble, images.size());
  for (const SourceModel& source : ensemble.sources) way.record = way.record && source.layered() != nullptr;
  const std::vector<std::unique_ptr<Learner>> all = learners(ensemble, images, way);
  std::vector<std::unique_ptr<Way>> ways;
  for (const auto& learner : all) ways.push_back(std::make_unique<Way>(*learner, images, way, ways.size()));

  RoundEvent event;
  event.rounds = way.rounds;
  event.ensemble = &ensemble;
  std::vector<Outputs> outputs;
  const auto evaluate_and_report = [&](Clock::time_point start) {
    const Clock::time_point before = Clock::now();
    outputs = evaluate(ensemble.sources, images, is_mixed(way.precision));
    std::vector<Tensor> logits;
    event.features.clear();
    for (const Outputs& source : outputs) {
      event.features.push_back(source.features);
      logits.push_back(source.logits);
    }
    ensemble.mixture = mixture();
    event.logits = at::stack(logits);
    event.probabilities = combine(event.logits, ensemble.mixture);
    event.weights = ensemble.mixture.weights;
    synchronise(device);
    event.phases.evaluation = seconds_since(before);
    event.seconds = seconds_since(start);
    observer.on_round(event);
  };
  evaluate_and_report(Clock::now());
  for (event.round = 1; event.round <= way.rounds; ++event.round) {
    const Clock::time_point start = Clock::now();
    event.pictures = 0;
    event.means.clear();
    {
      const OwnStream stream(device);
      StepEvent place{event.round, event.rounds, 0, 0};
      for (const auto& one : ways) place.steps += one->end_of(event.round) - one->end_of(event.round - 1);
      for (size_t j = 0; j < ways.size(); ++j) {
        const std::vector<double> means = ways[j]->run(event.round, outputs, place, observer, event.pictures);
        place.step += ways[j]->end_of(event.round) - ways[j]->end_of(event.round - 1);
        const std::vector<std::string> names = all[j]->losses();
        for (size_t i = 0; i < names.size(); ++i) event.means[names[i]].push_back(means[i]);
      }
    }
    event.phases.training = seconds_since(start);
    evaluate_and_report(start);
  }
}

}  // namespace tributary

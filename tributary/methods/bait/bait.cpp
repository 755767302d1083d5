// BAIT (Yang et al. 2020, "casting a BAIT"; docs/baselines.md, BAIT): adapts each source separately, with a second
// classifier as a probe.
//
// A frozen classifier cannot see which features lie on its wrong side. The bait, a copy of it, is moved away from it on
// the pictures it is unsure of. Where the two disagree, the features are then moved until they agree again. The bait is
// discarded at the end: the source's own classifier predicts, and the probabilities of the sources are averaged.
#include "tributary/methods/bait/bait.h"

#include <algorithm>

#include "tributary/adapt/information.h"
#include "tributary/base/error.h"
#include "tributary/device/accelerator.h"
#include "tributary/methods/baselines.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/device_images.h"
#include "tributary/train/sampler.h"

namespace tributary {
namespace {

// For both optimisers.
constexpr SgdOptions kSgd{/*momentum=*/0.9, /*weight_decay=*/5e-4, /*nesterov=*/true};

BaitClassifier copy_of_classifier(const SourceModel& source) {
  if (!source.layered())
    input_error("BAIT trains a copy of the classifier, which TorchScript does not allow; {} is TorchScript",
                source.info().name);
  return BaitClassifier(source.classifier_parameters());
}

}  // namespace

double bait_rate(bool photographs, int64_t steps) {
  constexpr double kRate = 1e-3, kWay = 0.6;
  return photographs ? kRate : std::min(kRate, kWay / static_cast<double>(steps));
}

BaitStep::BaitStep(SourceModel& source, const BaitStepOptions& options)
    : source_(source),
      options_(options),
      bait_(copy_of_classifier(source)),
      features_optimiser_({backbone_group(source, options.backbone, options.rate_backbone),
                           {source.bottleneck_parameters(), options.rate_bottleneck}},
                          kSgd),
      bait_optimiser_({{bait_.parameters(), options.rate_bait}}, kSgd) {
  freeze(source_.classifier_parameters());
}

NamedTensors BaitStep::state() const {
  return joined_state({{"bait", bait_.parameters()},
                       {"features_optimiser", features_optimiser_.state()},
                       {"bait_optimiser", bait_optimiser_.state()}});
}

Tensor BaitStep::cast(const Tensor& pixels, DropoutStream& dropout_stream, const Tensor& rate_factor) {
  Tensor anchor, bait, split;
  {
    const MixedPrecision precision(options_.mixed_precision, pixels.device());
    Tensor features;
    {
      // The released code accumulates a gradient in the features here, but discards it before using it.
      torch::NoGradGuard no_grad;
      const Tensor x = normalise(pixels, source_.info().normalisation);
      if (options_.split_in_evaluation) split = source_.classify(source_.features(x)).to(torch::kFloat32);
      features = source_.features(x, &dropout_stream);
      anchor = source_.classify(features).to(torch::kFloat32);
    }
    bait = bait_(features).to(torch::kFloat32);
  }
  const Tensor signs = uncertain_signs(entropy((split.defined() ? split : anchor).softmax(1)));
  const Tensor loss = cast_loss(head_distances(anchor, bait, options_.distance), signs, options_.cast_weight);
  bait_optimiser_.zero_gradients();  // includes gradients left by the last bite
  loss.backward();
  bait_optimiser_.step(rate_factor);
  return loss.detach();
}

Tensor BaitStep::bite(const Tensor& pixels, DropoutStream& dropout_stream, const Tensor& rate_factor) {
  Tensor anchor, bait;
  {
    // A new autocast scope: the bait has changed since its weights were cast to bfloat16 above.
    const MixedPrecision precision(options_.mixed_precision, pixels.device());
    const Tensor features = source_.features(normalise(pixels, source_.info().normalisation), &dropout_stream);
    anchor = source_.classify(features).to(torch::kFloat32);
    bait = bait_(features).to(torch::kFloat32);
  }
  const Tensor loss = bite_loss(anchor.softmax(1), bait.softmax(1));
  features_optimiser_.zero_gradients();
  loss.backward();
  features_optimiser_.step(rate_factor);
  return loss.detach();
}

namespace {

struct BaitOptions {
  HeadDistance distance = HeadDistance::kCode;
  double cast_weight = -1;  // negative: 10 for the code's distance, 1 for the paper's
  double rate = 0;          // learning rate of the bait; 0: default, see bait_rate
};

class BaitLearner : public Learner {
 public:
  BaitLearner(SourceModel& source, const BaitStepOptions& options) : halves_(source, options) {}

  std::vector<std::string> losses() const override { return {"cast", "bite"}; }
  int64_t dropout_streams() const override { return 2; }
  NamedTensors state() const override { return halves_.state(); }

  Tensor step(const TargetBatch& batch) override {
    // The bite needs a second forward pass: its dropout masks and batch statistics are part of the method.
    const Tensor cast = halves_.cast(batch.pixels, batch.dropout_stream[0], batch.rate_factor);
    const Tensor bite = halves_.bite(batch.pixels, batch.dropout_stream[1], batch.rate_factor);
    return at::stack({cast, bite});
  }

 private:
  BaitStep halves_;
};

class Bait : public LearnedMethod {
 public:
  Bait(const MethodOptions& common, const BaitOptions& options) : common_(common), options_(options) {}

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t pictures) const override {
    const bool photographs = for_photographs(ensemble);
    TrainingSchedule schedule =
        common_.schedule(ensemble, /*default_batch=*/128, /*default_epochs=*/photographs ? 30 : 15);
    schedule.steps = schedule.rounds * batches_per_epoch(pictures, schedule.batch);
    schedule.decay = !photographs;
    return schedule;
  }

  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages&,
                                                 const TrainingSchedule& schedule) override {
    BaitStepOptions options;
    options.distance = options_.distance;
    const double own_weight = options_.distance == HeadDistance::kCode ? 10 : 1;
    options.cast_weight = options_.cast_weight >= 0 ? options_.cast_weight : own_weight;
    const bool photographs = for_photographs(ensemble);
    const double own = bait_rate(photographs, schedule.steps);
    options.backbone = common_.backbone;
    options.rate_backbone = common_.backbone_rate(own / 10);
    options.split_in_evaluation = !photographs;
    options.rate_bottleneck = common_.bottleneck_rate(own);
    options.rate_bait = options_.rate > 0 ? options_.rate : own;
    options.mixed_precision = is_mixed(schedule.precision);
    std::vector<std::unique_ptr<Learner>> all;
    for (SourceModel& source : ensemble.sources) all.push_back(std::make_unique<BaitLearner>(source, options));
    return all;
  }

 private:
  MethodOptions common_;
  BaitOptions options_;
};

}  // namespace

MethodEntry bait_method() {
  const auto options = std::make_shared<BaitOptions>();
  return {"bait", "BAIT", "a second classifier finds doubtful features; adapts each source separately",
          [options](OptionTable& table) {
            table.choice("bait", "bait_distance", &options->distance,
                         {{"code", HeadDistance::kCode}, {"paper", HeadDistance::kPaper}},
                         "distance between BAIT's two classifiers: as in its released code or its paper");
            table.number("bait", "bait_cast_weight", &options->cast_weight, -1, 1e6,
                         "weight of BAIT's cast loss; -1 takes 10 for the code's distance and 1 for the paper's");
            table.number("bait", "bait_rate", &options->rate, 0, 1e3,
                         "learning rate of the bait classifier; 0 takes 1e-3, or less for long runs on small pictures");
          },
          [options](const MethodOptions& common) { return std::make_unique<Bait>(common, *options); }};
}

}  // namespace tributary

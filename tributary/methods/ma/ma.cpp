// MA, also called 3C-GAN (Li et al., CVPR 2020; docs/baselines.md, MA): each source learns separately from generated
// samples.
//
// A generator makes target-style samples of every class. A discriminator judges the style and the source itself the
// class. The source learns from these samples, stays near its initial weights, and moves its decision boundaries to
// where the target has no samples. The probabilities of the adapted sources are averaged. The authors released no code;
// docs/baselines.md says which choices are ours.
#include <algorithm>
#include <optional>

#include "tributary/base/error.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/ma/generation.h"
#include "tributary/methods/ma/ma_step.h"
#include "tributary/train/sampler.h"

namespace tributary {
namespace {

struct MaOptions {
  MaSpace space = MaSpace::kAuto;
  double lambda_generated = 1, lambda_semantic = 0.1;
  double lambda_weights = -1;     // negative: 1e-2 under momentum, 1e-4 under Adam
  double lambda_clustering = -1;  // negative: 0.01
  double probe = 0.1;
  double radius = -1;    // negative: 3.5 for pictures, a tenth of their norm for features
  int64_t warm_up = -1;  // in epochs; negative: a third of them, at least one
  int64_t ramp = -1;     // in epochs; negative: all that follow the warm-up
  bool saturating = false;
  MaBatchNorm generated_batch_norm = MaBatchNorm::kTrain;
  std::optional<MaOptimiser> optimiser;  // unset: SGD for digits, Adam for photographs
  double rate_generator = 1e-4, rate_discriminator = 4e-4;
};

class MaLearner : public Learner {
 public:
  // `warm_up` and `ramp` are in steps.
  MaLearner(SourceModel& source, const MaNumbers& numbers, const Random& init, int64_t warm_up, int64_t ramp)
      : step_(source, numbers, init), warm_up_(warm_up), ramp_(ramp) {}

  std::vector<std::string> losses() const override { return MaStep::losses(); }
  int64_t dropout_streams() const override { return MaStep::kPasses; }
  NamedTensors state() const override { return step_.state(); }

  // During warm-up a step computes everything but does not update the predictor: a captured step cannot branch.
  Tensor step(const TargetBatch& batch) override {
    const Tensor ramp = ramp_weight(batch.progress, warm_up_, ramp_);
    return step_.run(batch.pixels, batch.rate_factor, ramp, batch.dropout_stream);
  }

 private:
  MaStep step_;
  int64_t warm_up_, ramp_;
};

class Ma : public LearnedMethod {
 public:
  Ma(const MethodOptions& common, const MaOptions& options) : common_(common), options_(options) {}
  // The loss needs gradients with respect to the samples and to single parameters.
  bool supports_recomputation() const override { return false; }
  // One of its losses depends directly on the parameters.
  SupportedSharding supported_sharding() const override { return SupportedSharding::kNone; }

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t) const override {
    const bool photographs = for_photographs(ensemble);
    const int64_t epochs = !photographs ? 30 : common_.benchmark.starts_with("domainnet") ? 5 : 15;
    return common_.schedule(ensemble, /*default_batch=*/photographs ? 32 : 64, epochs);
  }

  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                 const TrainingSchedule& schedule) override {
    const MaNumbers numbers = resolved_numbers(for_photographs(ensemble), images, schedule);
    const int64_t warm_up = options_.warm_up >= 0 ? options_.warm_up : std::max<int64_t>(1, schedule.rounds / 3);
    const int64_t ramp = options_.ramp >= 0 ? options_.ramp : std::max<int64_t>(0, schedule.rounds - warm_up);
    const int64_t batches = batches_per_epoch(images.size(), std::min(schedule.batch, images.size()));
    std::vector<std::unique_ptr<Learner>> all;
    for (SourceModel& source : ensemble.sources)
      all.push_back(std::make_unique<MaLearner>(source, numbers,
                                                Random(schedule.seed, Purpose::kAdversary, {all.size()}),
                                                warm_up * batches, ramp * batches));
    return all;
  }

 private:
  MaNumbers resolved_numbers(bool photographs, const DeviceImages& images, const TrainingSchedule& schedule) const {
    constexpr int64_t kGenerated = 32;  // pixels per side
    const bool small = images.crop() == kGenerated;
    if (options_.space == MaSpace::kImage && !small)
      input_error(
          "--ma-space image generates pictures of {0}x{0}, but the sources take {1}x{1}; use --ma-space feature",
          kGenerated, images.crop());
    MaNumbers numbers;
    numbers.space = options_.space != MaSpace::kAuto ? options_.space : small ? MaSpace::kImage : MaSpace::kFeature;
    numbers.lambda_generated = options_.lambda_generated;
    numbers.lambda_semantic = options_.lambda_semantic;
    numbers.lambda_clustering = options_.lambda_clustering >= 0 ? options_.lambda_clustering : 0.01;
    const bool features = numbers.space == MaSpace::kFeature;
    numbers.adversary = {options_.probe, options_.radius >= 0 ? options_.radius : features ? 0.1 : 3.5, features};
    numbers.saturating = options_.saturating;
    numbers.generated_batch_norm = options_.generated_batch_norm;
    numbers.optimiser = options_.optimiser.value_or(photographs ? MaOptimiser::kAdam : MaOptimiser::kSgd);
    const double own_pull = numbers.optimiser == MaOptimiser::kSgd ? 1e-2 : 1e-4;
    numbers.lambda_weights = options_.lambda_weights >= 0 ? options_.lambda_weights : own_pull;
    numbers.rate_generator = options_.rate_generator;
    numbers.rate_discriminator = options_.rate_discriminator;
    numbers.rate_backbone = common_.backbone_rate(photographs ? 1e-5 : 1e-3);
    numbers.rate_head = common_.bottleneck_rate(photographs ? 1e-4 : 1e-3);
    numbers.mixed = is_mixed(schedule.precision);
    return numbers;
  }

  MethodOptions common_;
  MaOptions options_;
};

void declare_options(OptionTable& table, MaOptions& own) {
  const std::string section = "ma";
  table.choice(section, "ma_space", &own.space,
               {{"auto", MaSpace::kAuto}, {"image", MaSpace::kImage}, {"feature", MaSpace::kFeature}},
               "samples that MA generates; auto takes pictures for 32x32 sources and features for larger ones");
  table.number(section, "ma_lambda_generated", &own.lambda_generated, 0, 1e6, "weight of MA's generated samples");
  table.number(section, "ma_lambda_semantic", &own.lambda_semantic, 0, 1e6,
               "weight of the class loss of MA's generator");
  table.number(section, "ma_lambda_weights", &own.lambda_weights, -1, 1e6,
               "weight of the squared distance to the source's weights in MA; -1 takes 1e-2 under momentum and 1e-4 "
               "under Adam");
  table.number(section, "ma_lambda_clustering", &own.lambda_clustering, -1, 1e6,
               "weight of MA's clustering loss; -1 takes 0.01");
  table.number(section, "ma_probe", &own.probe, 1e-4, 1e3,
               "norm of the random initial perturbation in MA's virtual adversarial loss");
  table.number(
      section, "ma_radius", &own.radius, -1, 1e6,
      "norm of MA's virtual adversarial perturbation, for features relative to their norm; -1 takes 3.5 for pictures "
      "and 0.1 for features");
  table.integer(section, "ma_warm_up", &own.warm_up, -1, 100000,
                "epochs in which MA trains its generator only; -1 takes a third of all, at least one");
  table.integer(
      section, "ma_ramp", &own.ramp, -1, 100000,
      "epochs after the warm-up in which the weights of generated samples and of clustering grow linearly; -1 "
      "takes all that are left");
  table.flag(section, "ma_saturating", &own.saturating, "let MA's generator minimise ln(1 - D), as in the paper");
  table
      .choice(section, "ma_generated_batch_norm", &own.generated_batch_norm,
              {{"train", MaBatchNorm::kTrain}, {"eval", MaBatchNorm::kEval}},
              "BatchNorm mode for generated samples in MA: batch statistics or running statistics")
      .alias("ma_bn_fake");
  table
      .choice(section, "ma_optimiser", &own.optimiser,
              {{"auto", std::nullopt}, {"sgd", MaOptimiser::kSgd}, {"adam", MaOptimiser::kAdam}},
              "optimiser of MA's predictor; auto takes SGD for digits, where Adam moves too "
              "far from the source, and Adam for photographs")
      .alias("ma_descent");
  table.number(section, "ma_rate_generator", &own.rate_generator, 0, 10, "learning rate of MA's generator");
  table.number(section, "ma_rate_discriminator", &own.rate_discriminator, 0, 10, "learning rate of MA's discriminator");
}

}  // namespace

MethodEntry ma_method() {
  const auto options = std::make_shared<MaOptions>();
  MethodEntry entry{"ma", "MA",
                    "learns from generated target-style samples of every class; adapts each source separately",
                    [options](OptionTable& table) { declare_options(table, *options); },
                    [options](const MethodOptions& common) { return std::make_unique<Ma>(common, *options); }};
  entry.unused_options = {"train", "clip_gradient"};
  return entry;
}

}  // namespace tributary

#include "tributary/methods/ma/ma_step.h"

#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/shot/centroids.h"
#include "tributary/train/device_images.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;

struct MaRecorder : Observer {
  std::vector<std::vector<NamedTensors>> states;  // of every source after every round
  std::vector<RoundEvent> rounds;
  void on_round(const RoundEvent& event) override {
    rounds.push_back(event);
    states.emplace_back();
    for (const SourceModel& source : event.ensemble->sources) states.back().push_back(copy_of(source.state()));
  }
};

bool equal(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!torch::equal(a[i].value, b[i].value)) return false;
  return true;
}

// Two epochs on noise pictures, the first for the generator only.
MaRecorder adapted_by_ma(Ensemble ensemble, uint64_t seed, const std::string& options = "", int64_t pictures = 16) {
  MethodOptions common = test::quick();
  common.seed = seed;
  MaRecorder recorder;
  test::configured(ma_method(), options, common)->adapt(ensemble, test::noise_pictures(pictures), recorder);
  return recorder;
}

// Whether this is a bias of the DTN before a BatchNorm, whose gradient is only rounding.
bool is_before_batch_norm(const std::string& name) {
  return name == "backbone.conv_params.0.bias" || name == "backbone.conv_params.4.bias" ||
         name == "backbone.conv_params.8.bias";
}

TEST(Ma, KeepsThePredictorDuringWarmUp) {
  const MaRecorder run = adapted_by_ma(test::small_ensemble({"lenet", "dtn"}), 1);
  ASSERT_EQ(run.states.size(), 3u);
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_TRUE(equal(run.states[0][j], run.states[1][j])) << "source " << j << ", running statistics included";
    for (size_t i = 0; i < run.states[0][j].size(); ++i)
      EXPECT_TRUE(is_before_batch_norm(run.states[0][j][i].name) ||
                  !torch::equal(run.states[1][j][i].value, run.states[2][j][i].value))
          << run.states[0][j][i].name;
  }
  EXPECT_TRUE(run.rounds.back().probabilities.isfinite().all().item<bool>());
  EXPECT_EQ(run.rounds.back().means.size(), MaStep::losses().size());
}

TEST(Ma, DecaysItsRatesAndHasTheDefaultsOfMomentumForDigits) {
  const Ensemble ensemble = test::small_ensemble({"lenet"});
  const auto method = test::configured(ma_method(), "", MethodOptions());
  EXPECT_TRUE(dynamic_cast<LearnedMethod&>(*method).schedule(ensemble, 400).decay);
  const auto result = [](const std::string& options) {
    return adapted_by_ma(test::small_ensemble({"lenet"}), 1, options).rounds.back().probabilities;
  };
  const Tensor own = result("");
  EXPECT_TENSOR_EQ(result("ma_lambda_generated = 1.0\nma_lambda_clustering = 0.01\nma_lambda_weights = 0.01\n"
                          "ma_warm_up = 1\nma_ramp = 1\n"),
                   own);
  EXPECT_TENSOR_EQ(result("ma_descent = 'adam'\n"), result("ma_optimiser = 'adam'\nma_lambda_weights = 0.0001\n"));
}

TEST(Ma, IsBitwiseReproducibleAndDependsOnTheSeed) {
  const auto result = [](uint64_t seed) {
    return adapted_by_ma(test::small_ensemble({"lenet"}), seed).rounds.back().probabilities;
  };
  const Tensor once = result(1);
  EXPECT_TENSOR_EQ(result(1), once);
  EXPECT_GT(test::distance(result(2), once), 1e-4);
}

TEST(Ma, RunsInFeatureSpaceAndWithEveryOption) {
  for (const char* options : {"ma_space = 'feature'\n", "ma_optimiser = 'adam'\n",
                              "ma_generated_batch_norm = 'eval'\nma_saturating = true\nma_warm_up = 0\n",
                              "ma_lambda_generated = 0.0\nma_warm_up = 0\n"}) {
    const MaRecorder run = adapted_by_ma(test::small_ensemble({"lenet"}), 1, options);
    EXPECT_TRUE(run.rounds.back().probabilities.isfinite().all().item<bool>()) << options;
    const bool warm = std::string(options).find("warm_up") == std::string::npos;
    EXPECT_EQ(equal(run.states[0][0], run.states[1][0]), warm) << options;
    EXPECT_FALSE(equal(run.states[1][0], run.states[2][0])) << options;
  }
}

// On a GPU the third full batch, still in the warm-up, is captured and replayed later.
TEST(Ma, WarmsUpInCapturedSteps) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  for (const char* options : {"", "ma_space = 'feature'\n"}) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    ensemble.to(torch::Device(torch::kCUDA, 0));
    const MaRecorder run = adapted_by_ma(std::move(ensemble), 1, options, /*pictures=*/30);
    for (size_t j = 0; j < 2; ++j) {
      EXPECT_TRUE(equal(run.states[0][j], run.states[1][j]));
      EXPECT_FALSE(equal(run.states[1][j], run.states[2][j]));
    }
    EXPECT_TRUE(run.rounds.back().probabilities.isfinite().all().item<bool>());
  }
}

// All tensors that a step can change, to see which ones it did.
struct Parts {
  NamedTensors generator, discriminator, predictor;
};

const Tensor kFull = torch::tensor(1.0f);  // the end of the ramp

class MaRouting : public ::testing::TestWithParam<MaSpace> {
 protected:
  MaRouting() {
    MaNumbers numbers;
    numbers.space = GetParam();
    numbers.adversary.relative = GetParam() == MaSpace::kFeature;
    step_.emplace(source_, numbers, Random(5));
  }
  Parts parts() const {
    const TensorList discriminator = step_->discriminator().tensors();
    Parts copy{copy_of(step_->generator().parameters()), copy_of(discriminator.parameters), copy_of(source_.state())};
    for (const NamedTensor& buffer : copy_of(discriminator.buffers)) copy.discriminator.push_back(buffer);
    return copy;
  }

  SourceModel source_{test::small_info("dtn"), Random(1)};
  std::optional<MaStep> step_;
  Tensor pixels_ = test::normals({6, 3, 32, 32}, 2).sigmoid();
  DropoutStream draws_{Random(3), torch::kCPU}, generated_{Random(4), torch::kCPU}, target_{Random(6), torch::kCPU};
};

TEST_P(MaRouting, EveryStepUpdatesOnlyItsNetwork) {
  const Parts first = parts();
  const Tensor real = step_->begin(pixels_, target_);
  const NamedTensors initial = copy_of(source_.state());  // begin() may update backbone statistics
  step_->step_discriminator(step_->discriminator_gradients(real, step_->draw(6, draws_)));
  Parts after = parts();
  EXPECT_FALSE(equal(after.discriminator, first.discriminator));
  EXPECT_TRUE(equal(after.generator, first.generator));
  EXPECT_TRUE(equal(after.predictor, initial));

  Parts before = after;
  step_->step_generator(step_->generator_gradients(step_->draw(6, draws_)));
  after = parts();
  EXPECT_TRUE(equal(after.discriminator, before.discriminator));
  EXPECT_FALSE(equal(after.generator, before.generator));
  EXPECT_TRUE(equal(after.predictor, initial));

  before = after;
  const MaGradients computed =
      step_->predictor_gradients(real, step_->draw(6, draws_), draws_.normal(real.sizes()), kFull, generated_, target_);
  step_->step_predictor(computed, torch::tensor(1.0f), torch::tensor(1.0f));
  after = parts();
  EXPECT_TRUE(equal(after.discriminator, before.discriminator));
  EXPECT_TRUE(equal(after.generator, before.generator));
  for (size_t i = 0; i < after.predictor.size(); ++i)
    EXPECT_TRUE(is_before_batch_norm(after.predictor[i].name) ||
                !torch::equal(after.predictor[i].value, first.predictor[i].value))
        << after.predictor[i].name;
}

TEST_P(MaRouting, PredictorUsesTheChosenOptimiser) {
  for (const MaOptimiser optimiser : {MaOptimiser::kSgd, MaOptimiser::kAdam}) {
    MaNumbers numbers;
    numbers.space = GetParam();
    numbers.adversary.relative = GetParam() == MaSpace::kFeature;
    numbers.optimiser = optimiser;
    MaStep step(source_, numbers, Random(5));
    const Tensor weight = source_.backbone_parameters().front().value;
    const Tensor real = step.begin(pixels_, target_);
    const MaGradients computed =
        step.predictor_gradients(real, step.draw(6, draws_), draws_.normal(real.sizes()), kFull, generated_, target_);
    const Tensor before = weight.detach().clone(), slope = computed.gradients.front().clone();
    step.step_predictor(computed, torch::tensor(0.5f), torch::tensor(0.0f));
    EXPECT_TENSOR_EQ(weight.detach(), before) << "not active";
    step.step_predictor(computed, torch::tensor(0.5f), torch::tensor(1.0f));
    // The first step of Adam has the size of the learning rate wherever the gradient is not zero.
    const Tensor direction = optimiser == MaOptimiser::kSgd ? slope : slope / (slope.abs() + 1e-8);
    EXPECT_TENSOR_NEAR(before - weight.detach(), 0.5 * numbers.rate_backbone * direction, 1e-6);
  }
}

TEST_P(MaRouting, OnlyOnePassOfRealSamplesUpdatesTheRunningStatistics) {
  std::vector<DropoutStream> dropout_stream = {draws_, generated_, target_};
  SourceModel twin(source_.info(), Random(0));
  twin.restore(source_.state());
  twin.features(normalise(pixels_, source_.info().normalisation), &target_);
  step_->run(pixels_, torch::tensor(1.0f), kFull, dropout_stream);
  const NamedTensors now = source_.state(), expected = twin.state();
  int statistics = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i].name.ends_with("num_batches_tracked")) {
      EXPECT_EQ(now[i].value.item<int64_t>(), 1) << now[i].name;
    }
    if (now[i].name.find("running_") == std::string::npos) continue;
    ++statistics;
    EXPECT_TENSOR_NEAR(now[i].value, expected[i].value, 1e-6) << now[i].name << ": generated samples left a trace";
  }
  EXPECT_GE(statistics, 8);
}

// The masks of the pass are used again, so that a change of length zero changes nothing.
TEST_P(MaRouting, EqualDropoutGivesNoDivergenceWithoutAChange) {
  const auto divergence = [&](double radius) {
    MaNumbers numbers;
    numbers.space = GetParam();
    numbers.adversary = {0.1, radius, GetParam() == MaSpace::kFeature};
    SourceModel source(test::small_info("dtn"), Random(1));
    MaStep step(source, numbers, Random(5));
    DropoutStream draws(Random(3), torch::kCPU), generated(Random(4), torch::kCPU), target(Random(6), torch::kCPU);
    const Tensor real = step.begin(pixels_, target);
    const MaDraw draw = step.draw(6, draws);
    const Tensor losses =
        step.predictor_gradients(real, draw, draws.normal(real.sizes()), kFull, generated, target).losses;
    return losses[3].item<double>();
  };
  EXPECT_NEAR(divergence(0), 0, 1e-6);
  EXPECT_GT(divergence(1), 1e-4);
}

TEST_P(MaRouting, TheRampScalesGeneratedSamplesAndClusteringButNotThePull) {
  const auto gradients = [&](double ramp, double weights) {
    MaNumbers numbers;
    numbers.space = GetParam();
    numbers.adversary.relative = GetParam() == MaSpace::kFeature;
    numbers.lambda_weights = weights;
    SourceModel source(test::small_info("dtn"), Random(1));
    MaStep step(source, numbers, Random(5));
    for (const NamedTensor& parameter : source.classifier_parameters()) parameter.value.detach().add_(0.01);
    DropoutStream draws(Random(3), torch::kCPU), generated(Random(4), torch::kCPU), target(Random(6), torch::kCPU);
    const Tensor real = step.begin(pixels_, target);
    const MaDraw draw = step.draw(6, draws);
    const MaGradients found =
        step.predictor_gradients(real, draw, draws.normal(real.sizes()), torch::full({}, ramp), generated, target);
    return found.gradients.back().clone();  // of the classifier
  };
  const Tensor full = gradients(1, 0), half = gradients(0.5, 0), none = gradients(0, 0.01);
  EXPECT_GT(full.abs().max().item<double>(), 1e-4);
  EXPECT_TENSOR_NEAR(half, 0.5 * full, 1e-6);
  EXPECT_TENSOR_NEAR(none, torch::full_like(none, 2 * 0.01 * 0.01), 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Spaces, MaRouting, ::testing::Values(MaSpace::kImage, MaSpace::kFeature));

TEST(MaNetworks, GeneratePicturesInRangeThatDependOnTheClass) {
  const ClassGenerator generator = ClassGenerator::of_pictures(10, Random(1), torch::kCPU);
  const Tensor z = test::normals({4, generator.z_width()}, 2);
  const Tensor x = generator(hard_weights(test::indices({0, 1, 2, 3}), 10), z).detach();
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{4, 3, 32, 32}));
  EXPECT_LE(x.abs().max().item<double>(), 1);
  EXPECT_GT(test::distance(x, generator(hard_weights(test::indices({4, 1, 2, 3}), 10), z).detach()), 1e-3);
  const Tensor f = ClassGenerator::of_features(10, 77, Random(1), torch::kCPU)(hard_weights(test::indices({5, 1}), 10),
                                                                               test::normals({2, 256}, 2));
  EXPECT_EQ(f.sizes(), (std::vector<int64_t>{2, 77}));
  EXPECT_GE(f.min().item<double>(), 0);
}

TEST(MaNetworks, DiscriminatorWeightsHaveSpectralNormOne) {
  SpectralDiscriminator discriminator = SpectralDiscriminator::of_pictures(Random(1), torch::kCPU);
  const TensorList before = discriminator.tensors();
  const Tensor u = before.buffers.front().value.clone();
  for (int i = 0; i < 60; ++i) discriminator.iterate();
  EXPECT_GT(test::distance(discriminator.tensors().buffers.front().value, u), 0);
  EXPECT_TRUE(discriminator.tensors().buffers.front().value.is_same(before.buffers.front().value)) << "in place";
  for (const Tensor& weight : discriminator.weights())
    EXPECT_NEAR(at::linalg_matrix_norm(weight.detach().flatten(1), 2).item<double>(), 1, 2e-2);
  const Tensor logit = discriminator.logit(test::normals({2, 3, 32, 32}, 3), discriminator.weights());
  EXPECT_EQ(logit.sizes(), (std::vector<int64_t>{2, 1}));
}

TEST(Ma, RejectsUnsupportedSampleSpaces) {
  Ensemble ensemble = test::small_ensemble({"resnet18"});
  ImageSet images;
  images.height = images.width = 256;
  images.names = {"a", "b"};
  images.pixels.resize(static_cast<size_t>(2 * images.picture_bytes()));
  const auto ma = test::configured(ma_method(), "ma_space = 'image'", test::quick(1));
  Observer observer;
  EXPECT_THAT(test::message_of<InputError>([&] { ma->adapt(ensemble, images, observer); }),
              HasSubstr("use --ma-space feature"));
}

}  // namespace
}  // namespace tributary

#include "tributary/methods/bait/bait.h"

#include <gtest/gtest.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/adapt/information.h"
#include "tributary/base/error.h"
#include "tributary/methods/baselines.h"
#include "tributary/train/device_images.h"

namespace tributary {
namespace {

using test::quick;
using test::Recorder;

std::unique_ptr<Method> bait(const MethodOptions& common, const std::string& toml = "") {
  return test::configured(bait_method(), toml, common);
}

// The number of tensors whose values changed.
int moved(const NamedTensors& before, const NamedTensors& after) {
  int count = 0;
  for (size_t i = 0; i < before.size(); ++i) count += !torch::equal(before[i].value, after[i].value.detach());
  return count;
}

NamedTensors features_of(const SourceModel& source) {
  NamedTensors all = source.backbone_parameters();
  for (const NamedTensor& parameter : source.bottleneck_parameters()) all.push_back(parameter);
  return all;
}

TEST(Bait, LearningRateFallsWithTheNumberOfSteps) {
  EXPECT_DOUBLE_EQ(bait_rate(/*photographs=*/false, 60), 1e-3);
  EXPECT_DOUBLE_EQ(bait_rate(false, 6000), 1e-4);
  EXPECT_DOUBLE_EQ(bait_rate(true, 6000), 1e-3);
}

TEST(Bait, DecaysOnDigitsInBatchesOf128) {
  const auto schedule = [](const std::string& architecture) {
    const auto method = bait(MethodOptions());
    return dynamic_cast<LearnedMethod&>(*method).schedule(test::small_ensemble({architecture}), 1000);
  };
  const TrainingSchedule digits = schedule("lenet"), photographs = schedule("resnet18");
  EXPECT_EQ(digits.batch, 128);
  EXPECT_TRUE(digits.decay);
  EXPECT_EQ(digits.steps, 15 * 8);
  EXPECT_EQ(photographs.batch, 128);
  EXPECT_FALSE(photographs.decay);
}

TEST(Bait, TrainsTheBackboneOfDigitsAtATenthOfTheBottlenecksRate) {
  const auto adapted = [](double rate_backbone) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    MethodOptions common = quick(1);
    common.rate_backbone = rate_backbone;
    Recorder recorder;
    bait(common)->adapt(ensemble, test::noise_pictures(16), recorder);
    return recorder.rounds.back().logits;
  };
  EXPECT_TENSOR_EQ(adapted(/*the default*/ 0), adapted(1e-4));
  EXPECT_GT(test::distance(adapted(0), adapted(1e-3)), 0);
}

TEST(BaitStep, SplitsByEntropiesWithoutDropout) {
  const Tensor pixels = test::normals({8, 3, 32, 32}, 5).sigmoid();
  SourceModel source(test::small_info("lenet"), Random(1));
  BaitStepOptions options;
  options.split_in_evaluation = true;
  BaitStep step(source, options);
  const Tensor x = normalise(pixels, source.info().normalisation);
  torch::NoGradGuard no_grad;
  int unlike = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    // A twin tells what the step's training pass will see.
    SourceModel twin(source.info(), Random(0));
    twin.restore(source.state());
    const BaitClassifier bait_before(step.bait().parameters());
    DropoutStream masks(Random(seed), torch::kCPU), again(Random(seed), torch::kCPU);
    const Tensor features = twin.features(x, &masks);
    const Tensor anchor = twin.classify(features);
    const Tensor now = uncertain_signs(entropy(source.classify(source.features(x)).softmax(1)));
    const Tensor expected = cast_loss(head_distances(anchor, bait_before(features), options.distance), now, 10);
    unlike += !torch::equal(now, uncertain_signs(entropy(anchor.softmax(1))));
    at::AutoGradMode with_gradients(true);
    EXPECT_NEAR(step.cast(pixels, again, torch::ones({})).item<double>(), expected.item<double>(), 1e-5);
  }
  EXPECT_GT(unlike, 0) << "dropout should change some split, or this test shows nothing";
}

TEST(BaitStep, CastsTheBaitAloneAndBitesWithTheFeaturesAlone) {
  SourceModel source(test::small_info("lenet"), Random(1));
  BaitStep step(source, {});
  const NamedTensors anchor = copy_of(source.classifier_parameters());
  const NamedTensors features = copy_of(features_of(source));
  ASSERT_EQ(moved(anchor, step.bait().parameters()), 0) << "it starts as a copy";
  const Tensor pixels = test::normals({7, 3, 32, 32}, 5).sigmoid();
  const Tensor factor = torch::ones({});
  DropoutStream first(Random(1), torch::kCPU), second(Random(2), torch::kCPU);

  step.cast(pixels, first, factor);
  EXPECT_EQ(moved(anchor, step.bait().parameters()), 3) << "direction, length and bias";
  EXPECT_EQ(moved(features, features_of(source)), 0);
  for (const NamedTensor& parameter : features_of(source)) EXPECT_FALSE(parameter.value.grad().defined());

  const NamedTensors cast = copy_of(step.bait().parameters());
  step.bite(pixels, second, factor);
  EXPECT_EQ(moved(cast, step.bait().parameters()), 0);
  EXPECT_EQ(moved(features, features_of(source)), static_cast<int>(features.size()));
  EXPECT_EQ(moved(anchor, source.classifier_parameters()), 0);
  for (const NamedTensor& tensor : source.state())
    if (tensor.name == "bottleneck.bn.num_batches_tracked") {
      EXPECT_EQ(tensor.value.item<int64_t>(), 2) << "both halves are training passes";
    }
}

// Gradients that the bite leaves in the bait must not affect the next cast.
TEST(BaitStep, CastDiscardsTheGradientOfTheBite) {
  const auto bait_after = [](bool litter) {
    SourceModel source(test::small_info("lenet"), Random(1));
    BaitStep step(source, {});
    if (litter)
      for (const NamedTensor& parameter : step.bait().parameters())
        parameter.value.mutable_grad() = torch::ones_like(parameter.value);
    DropoutStream dropout_stream(Random(1), torch::kCPU);
    step.cast(test::normals({6, 3, 32, 32}, 5).sigmoid(), dropout_stream, torch::ones({}));
    return copy_of(step.bait().parameters());
  };
  EXPECT_EQ(moved(bait_after(false), bait_after(true)), 0);
}

class EveryDistance : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryDistance, RunsAndKeepsTheAnchorsFrozen) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  std::vector<NamedTensors> anchors, features;
  for (const SourceModel& source : ensemble.sources) {
    anchors.push_back(copy_of(source.classifier_parameters()));
    features.push_back(copy_of(features_of(source)));
  }
  Recorder recorder;
  bait(quick(), GetParam())->adapt(ensemble, test::noise_pictures(30), recorder);
  ASSERT_EQ(recorder.rounds.size(), 3u);
  EXPECT_EQ(recorder.steps, 2 * 2 * 4) << "sources, epochs, batches of 8, 8, 8 and 6";
  EXPECT_EQ(ensemble.mixture.rule, Combination::kMeanProbability);
  for (size_t j = 0; j < anchors.size(); ++j) {
    EXPECT_EQ(moved(anchors[j], ensemble.sources[j].classifier_parameters()), 0);
    EXPECT_EQ(moved(features[j], features_of(ensemble.sources[j])), static_cast<int>(features[j].size()));
  }
  const RoundEvent& last = recorder.rounds.back();
  EXPECT_TENSOR_NEAR(last.probabilities, last.logits.softmax(-1).mean(0), 1e-6);
  EXPECT_EQ(last.means.at("cast").size(), 2u);
  EXPECT_LT(last.means.at("bite").front(), recorder.rounds[1].means.at("bite").front());
}

INSTANTIATE_TEST_SUITE_P(Distances, EveryDistance,
                         ::testing::Values("bait_distance = \"code\"", "bait_distance = \"paper\""));

TEST(Bait, IsBitwiseReproducibleAndDependsOnTheSeed) {
  const auto adapted = [](uint64_t seed) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    MethodOptions options = quick();
    options.seed = seed;
    Recorder recorder;
    bait(options)->adapt(ensemble, test::noise_pictures(30), recorder);
    return recorder.rounds.back().probabilities;
  };
  const Tensor once = adapted(1);
  EXPECT_TENSOR_EQ(once, adapted(1));
  EXPECT_GT(test::distance(once, adapted(2)), 1e-5);
}

TEST(Bait, OptionsReachTheCast) {
  const auto cast = [](const std::string& toml) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    MethodOptions options = quick();
    options.epochs = 1;
    Recorder recorder;
    bait(options, toml)->adapt(ensemble, test::noise_pictures(8), recorder);
    return recorder.rounds.back().means.at("cast").front();
  };
  // The first loss of the first step: by default ten times the mean.
  EXPECT_NEAR(cast("bait_cast_weight = 1.0") * 10, cast(""), 1e-6);
  EXPECT_EQ(cast("bait_distance = \"paper\""), 0) << "equal heads have distance 0";
}

// A stand-in for a TorchScript module, whose classifier cannot be copied.
struct Foreign : SourceBody {
  Tensor features(const Tensor& x, DropoutStream*) override { return x.flatten(1); }
  Tensor classify(const Tensor& phi) const override { return phi; }
  TensorList backbone() const override { return {}; }
  TensorList bottleneck() const override { return {}; }
  TensorList classifier() const override { return {}; }
};

TEST(Bait, RejectsClassifiersItCannotCopy) {
  SourceModel source(test::small_info("lenet"), std::make_unique<Foreign>());
  source.rename("webcam");
  const std::string message = test::message_of<InputError>([&] { BaitStep step(source, {}); });
  EXPECT_NE(message.find("webcam"), std::string::npos) << message;
}

}  // namespace
}  // namespace tributary

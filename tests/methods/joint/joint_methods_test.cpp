// DECISION and CAiDA as whole methods, and their shared step.
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/cuda.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/joint/joint_learner.h"

namespace tributary {
namespace {

using test::quick;
using test::Recorder;

Recorder adapted(const MethodEntry& method, Ensemble& ensemble, const MethodOptions& common = quick(),
                 const ImageSet& images = test::noise_pictures(30), const std::string& lines = "") {
  Recorder recorder;
  test::configured(method, lines, common)->adapt(ensemble, images, recorder);
  return recorder;
}

// The final logits of all sources with these lines in the method's section of the configuration.
Tensor logits_with(const MethodEntry& method, const std::string& lines, const MethodOptions& common = quick()) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  return adapted(method, ensemble, common, test::noise_pictures(30), lines).rounds.back().logits;
}

class EveryJointMethod : public ::testing::TestWithParam<MethodEntry (*)()> {};

TEST_P(EveryJointMethod, KeepsWeightsOnTheSimplexAndClassifiersFrozen) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  std::vector<NamedTensors> before;
  for (const SourceModel& source : ensemble.sources) before.push_back(copy_of(source.classifier_parameters()));
  const Recorder recorder = adapted(GetParam()(), ensemble);
  ASSERT_EQ(recorder.rounds.size(), 3u);
  EXPECT_EQ(recorder.steps, 8);
  for (const RoundEvent& round : recorder.rounds) {
    EXPECT_NEAR(round.weights.sum().item<double>(), 1, 1e-6);
    EXPECT_TRUE(round.probabilities.isfinite().all().item<bool>());
  }
  EXPECT_GT(test::distance(recorder.rounds[0].weights, recorder.rounds[2].weights), 0) << "the weights are trained";
  EXPECT_EQ(ensemble.mixture.rule, Combination::kWeightedLogits);
  EXPECT_TENSOR_EQ(ensemble.mixture.weights, recorder.rounds[2].weights);
  EXPECT_FALSE(ensemble.mixture.weights.requires_grad());
  for (size_t j = 0; j < before.size(); ++j) {
    const NamedTensors after = ensemble.sources[j].classifier_parameters();
    for (size_t i = 0; i < after.size(); ++i) EXPECT_TENSOR_EQ(before[j][i].value, after[i].value) << after[i].name;
    EXPECT_GT(test::distance(recorder.rounds[0].logits[static_cast<int64_t>(j)],
                             recorder.rounds[2].logits[static_cast<int64_t>(j)]),
              1e-3)
        << "source " << j << " is trained";
  }
}

TEST_P(EveryJointMethod, IsBitwiseReproducibleAndDependsOnTheSeed) {
  const auto probabilities = [](uint64_t seed, const ImageSet& images) {
    Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
    MethodOptions common = quick();
    common.seed = seed;
    return adapted(GetParam()(), ensemble, common, images).rounds.back().probabilities;
  };
  const ImageSet images = test::noise_pictures(25);
  const Tensor once = probabilities(1, images);
  EXPECT_TENSOR_EQ(once, probabilities(1, images));
  EXPECT_TENSOR_EQ(once, probabilities(1, test::streamed(images))) << "independent of the storage of pictures";
  EXPECT_GT(test::distance(once, probabilities(2, images)), 1e-4);
}

TEST_P(EveryJointMethod, GivesASingleSourceAllTheWeight) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  const Recorder recorder = adapted(GetParam()(), ensemble, quick(), test::noise_pictures(2));
  EXPECT_TENSOR_NEAR(recorder.rounds.back().weights, torch::ones({1}), 1e-6);
}

TEST_P(EveryJointMethod, AcceptsSourcesOfDifferentWidths) {
  Ensemble ensemble;
  ensemble.sources.emplace_back(test::small_info("lenet", 10, 256), Random(1));
  ensemble.sources.emplace_back(test::small_info("lenet", 10, 64), Random(2));
  EXPECT_EQ(adapted(GetParam()(), ensemble).rounds.size(), 3u);
}

TEST_P(EveryJointMethod, GpuMatchesCpuEagerAndCaptured) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  const auto last = [](torch::Device device, bool cuda_graph) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    ensemble.to(device);
    MethodOptions common = quick();
    common.precision = Precision::kFloat32;
    common.cuda_graph = cuda_graph;
    const RoundEvent event = adapted(GetParam()(), ensemble, common).rounds.back();
    EXPECT_TRUE(event.probabilities.isfinite().all().item<bool>());
    return event.weights.cpu();
  };
  const torch::Device gpu(torch::kCUDA, 0);
  const Tensor host = last(torch::kCPU, false);
  EXPECT_TENSOR_NEAR(last(gpu, false), host, 1e-3);
  EXPECT_TENSOR_NEAR(last(gpu, true), host, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryJointMethod, ::testing::Values(&decision_method, &caida_method),
                         [](const auto& info) { return info.param().name; });

TEST(Decision, LabelsAugmentedPicturesByDefault) {
  MethodOptions mirrored = quick();
  mirrored.augmentation.flip = 0.5;
  const Tensor train = logits_with(decision_method(), "", mirrored);
  EXPECT_TENSOR_EQ(train, logits_with(decision_method(), "decision_transform = \"train\"\n", mirrored));
  EXPECT_GT(test::distance(train, logits_with(decision_method(), "decision_transform = \"test\"\n", mirrored)), 0);
  // Without augmentation, both are equal.
  EXPECT_TENSOR_EQ(logits_with(decision_method(), ""),
                   logits_with(decision_method(), "decision_transform = \"test\"\n"));
}

TEST(Decision, OptionsChangeTheResult) {
  const Tensor usual = logits_with(decision_method(), "");
  EXPECT_TENSOR_EQ(usual, logits_with(decision_method(), "decision_beta = 0.1\n")) << "digits";
  EXPECT_GT(test::distance(usual, logits_with(decision_method(), "decision_beta = 0.3\n")), 0);
  EXPECT_TRUE(logits_with(decision_method(), "decision_empty = \"zero\"\n").isfinite().all().item<bool>());
}

TEST(Caida, OptionsChangeTheResult) {
  // Noise pictures with share 0, so that the anchors decide.
  const std::string anchored = "caida_share = 0.0\n";
  const Tensor usual = logits_with(caida_method(), anchored);
  for (const char* line : {"caida_anchor = \"nearest\"\n", "caida_relations = 0.0\n", "caida_labels = 0.1\n",
                           "caida_share_deviation = 2.0\n", "caida_first_weights = \"equal\"\n"}) {
    const Tensor other = logits_with(caida_method(), anchored + line);
    EXPECT_TRUE(other.isfinite().all().item<bool>()) << line;
    EXPECT_GT(test::distance(usual, other), 0) << line;
  }
}

// A source without access to its backbone.
class Closed : public SourceBody {
 public:
  Tensor features(const Tensor& x, DropoutStream*) override { return x.flatten(1); }
  Tensor classify(const Tensor& phi) const override { return phi.narrow(1, 0, 10); }
  TensorList backbone() const override { return {{{"w", torch::zeros({1})}}, {}}; }
  TensorList bottleneck() const override { return {}; }
  TensorList classifier() const override { return {}; }
};

TEST(Caida, RejectsSourcesWithoutBackboneFeatures) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  ModelInfo info = test::small_info("lenet");
  info.name = "webcam";
  ensemble.sources.emplace_back(info, std::make_unique<Closed>());
  EXPECT_THAT(
      test::message_of<InputError>([&] { adapted(caida_method(), ensemble); }),
      ::testing::HasSubstr("needs the backbone features of its sources, which TorchScript does not give; webcam"));
}

class FixedLabels : public JointLearner {
 public:
  FixedLabels(Ensemble& ensemble, const JointSettings& settings, const Tensor& raw)
      : JointLearner(ensemble, settings, {raw}) {}
  Tensor weights() const override { return sigmoid_weights(raw_.front()); }

 protected:
  Tensor labels(const Tensor& rows, const Tensor&) const override { return rows % 10; }
  NamedTensors label_state() const override { return {}; }
};

TEST(JointLearner, MatchesOneGraphOverAllSources) {
  Ensemble ours = test::small_ensemble({"lenet", "dtn"}), theirs = test::small_ensemble({"lenet", "dtn"});
  JointSettings settings;
  settings.loss = {0.7, 0.01};
  const Tensor our_raw = trained_tensor({0.5F, -0.5F}, torch::kCPU);
  const Tensor their_raw = trained_tensor({0.5F, -0.5F}, torch::kCPU);
  FixedLabels learner(ours, settings, our_raw);
  std::vector<SgdGroup> groups = {{{{"raw", their_raw}}, 1e-2}};
  for (const SourceModel& source : theirs.sources) {
    groups.push_back({source.backbone_parameters(), 1e-2});
    groups.push_back({source.bottleneck_parameters(), 1e-2});
  }
  Sgd optimiser(groups, {});
  for (uint64_t s = 0; s < 2; ++s) {
    const Tensor rows = test::indices({3, 11, 7, 20, 5, 13}), pixels = test::normals({6, 3, 32, 32}, 9 + s).sigmoid();
    const auto dropout_streams = [&] {
      return std::vector<DropoutStream>{DropoutStream(Random(40 + s), torch::kCPU),
                                        DropoutStream(Random(50 + s), torch::kCPU)};
    };
    std::vector<DropoutStream> our_noise = dropout_streams(), their_noise = dropout_streams();
    const Tensor factor = torch::tensor(0.9F);
    const Tensor parts = learner.step({rows, pixels, factor, torch::zeros({}), our_noise});

    std::vector<Tensor> logits;
    for (size_t j = 0; j < 2; ++j) {
      SourceModel& source = theirs.sources[j];
      logits.push_back(
          source.classify(source.features(normalise(pixels, source.info().normalisation), &their_noise[j])));
    }
    const MixtureLoss loss = mixture_loss(at::stack(logits), sigmoid_weights(their_raw), rows % 10, settings.loss);
    optimiser.zero_gradients();
    torch::autograd::backward({loss.objective});
    optimiser.step(factor);
    EXPECT_EQ(parts.size(0), static_cast<int64_t>(learner.losses().size()));
    EXPECT_TENSOR_NEAR(parts, loss.parts, 1e-6);
    EXPECT_NEAR(learner.weights().sum().item<double>(), 1, 1e-6);
  }
  EXPECT_GT(test::distance(our_raw, torch::tensor({0.5F, -0.5F})), 0);
  EXPECT_TENSOR_NEAR(our_raw, their_raw, 1e-7);
  for (size_t j = 0; j < 2; ++j) {
    const NamedTensors a = ours.sources[j].state(), b = theirs.sources[j].state();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TENSOR_NEAR(a[i].value, b[i].value, 1e-6) << a[i].name;
  }
}

}  // namespace
}  // namespace tributary

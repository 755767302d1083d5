#include <gmock/gmock.h>
#include <torch/cuda.h>
#include <torch/script.h>

#include <algorithm>
#include <sstream>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/methods/baselines.h"
#include "tributary/model/layered_source.h"
#include "tributary/model/scripted_source.h"

namespace tributary {
namespace {

using test::quick;
using test::Recorder;

Recorder adapt(Ensemble& ensemble, const ImageSet& images, const MethodOptions& common,
               const std::string& options = "") {
  Recorder recorder;
  test::configured(sfda_method(), options, common)->adapt(ensemble, images, recorder);
  return recorder;
}

TEST(Sfda, TrainsOnFullBatches) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  const Recorder recorder = adapt(ensemble, test::noise_pictures(30), quick());
  EXPECT_EQ(recorder.rounds.size(), 3u);
  EXPECT_EQ(recorder.steps, 2 * 2 * 3) << "sources, epochs, whole batches in 30 pictures";
  EXPECT_EQ(recorder.rounds.back().pictures, 2 * 3 * 8);
  EXPECT_TRUE(recorder.rounds.back().probabilities.isfinite().all().item<bool>());
  EXPECT_GT(recorder.rounds.back().means.at("source_labels").front(), 0);
  EXPECT_GT(test::distance(recorder.rounds.front().logits, recorder.rounds.back().logits), 1e-4);
}

TEST(Sfda, TrainsTheBackboneOfDigitsAtATenthOfTheHeadsRate) {
  const auto adapted = [](double rate_backbone) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    MethodOptions common = quick(1);
    common.rate_backbone = rate_backbone;
    return adapt(ensemble, test::noise_pictures(16), common).rounds.back().logits;
  };
  EXPECT_TENSOR_EQ(adapted(/*the default*/ 0), adapted(1e-4));
  EXPECT_GT(test::distance(adapted(0), adapted(1e-3)), 0);
}

TEST(Sfda, IsBitwiseReproducibleAndDependsOnTheSeed) {
  const auto adapted = [](uint64_t seed, const std::string& options) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    MethodOptions common = quick();
    common.seed = seed;
    return adapt(ensemble, test::noise_pictures(30), common, options).rounds.back().probabilities;
  };
  for (const std::string options : {"", "sfda_memory_training = true\nsfda_refresh = 2\n"}) {
    const Tensor once = adapted(1, options);
    EXPECT_TENSOR_EQ(adapted(1, options), once);
    EXPECT_GT(test::distance(adapted(2, options), once), 1e-5);
  }
}

TEST(Sfda, EveryOptionChangesTheResult) {
  const auto adapted = [](const std::string& options) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    MethodOptions common = quick();
    common.rate_bottleneck = 0.1;
    return adapt(ensemble, test::noise_pictures(30), common, options).rounds.back().logits;
  };
  const Tensor usual = adapted("");
  for (const std::string options : {"sfda_steps = 9\n", "sfda_refresh = 1\n", "sfda_memory_training = true\n"})
    EXPECT_GT(test::distance(usual, adapted(options)), 0) << options;
  // Untrained networks are certain of too few pictures for these options to matter.
  for (const std::string options : {"sfda_prototypes = 1\n", "sfda_absent = \"released\"\n"})
    EXPECT_TRUE(adapted(options).isfinite().all().item<bool>()) << options;
}

// Only weight decay changes H_t, by rate * 5e-4 * (1 + momentum) with Nesterov momentum.
TEST(Sfda, FirstStepTrainsTheFeaturesButNotTheHead) {
  Ensemble ensemble = test::small_ensemble({"dtn"});
  SourceModel& source = ensemble.sources.front();
  const NamedTensors backbone = copy_of(source.backbone_parameters());
  const NamedTensors bottleneck = copy_of(source.bottleneck_parameters());
  const NamedTensors classifier = copy_of(source.classifier_parameters());
  MethodOptions common = quick(1);
  common.rate_backbone = common.rate_bottleneck = 0.1;
  adapt(ensemble, test::noise_pictures(12), common, "sfda_steps = 1\n");
  const auto beyond_decay = [](const NamedTensors& before, const NamedTensors& after) {
    double most = 0;
    for (size_t i = 0; i < before.size(); ++i)
      most = std::max(most, test::distance(after[i].value.detach(), before[i].value * (1 - 0.1 * 5e-4 * 1.9)));
    return most;
  };
  EXPECT_LE(beyond_decay(bottleneck, source.bottleneck_parameters()), 1e-6);
  EXPECT_LE(beyond_decay(classifier, source.classifier_parameters()), 1e-6);
  EXPECT_GT(beyond_decay(backbone, source.backbone_parameters()), 1e-4);
}

TEST(Sfda, HeadIsTrainedLater) {
  Ensemble ensemble = test::small_ensemble({"dtn"});
  SourceModel& source = ensemble.sources.front();
  freeze(source.classifier_parameters());  // as other methods leave it
  const NamedTensors classifier = copy_of(source.classifier_parameters());
  MethodOptions common = quick(1);
  common.rate_bottleneck = 0.1;
  adapt(ensemble, test::noise_pictures(12), common, "sfda_steps = 4\n");
  EXPECT_GT(test::distance(source.classifier_parameters().front().value.detach(), classifier.front().value), 1e-4);
}

TEST(Sfda, FreezesTheStemStatisticsForPhotographs) {
  Ensemble ensemble = test::small_ensemble({"resnet18"});
  std::vector<BatchNorm*> norms = ensemble.sources.front().layered()->network().batch_norms();
  const auto buffers = [](const BatchNorm& norm) {
    return std::vector<Tensor>{norm.running_mean.clone(), norm.running_var.clone(), norm.num_batches_tracked.clone()};
  };
  const auto stem = buffers(*norms[0]), next = buffers(*norms[1]);
  adapt(ensemble, test::noise_pictures(8), quick(1));
  for (size_t i = 0; i < stem.size(); ++i) {
    EXPECT_TENSOR_EQ(buffers(*norms[0])[i], stem[i]);
    EXPECT_FALSE(torch::equal(buffers(*norms[1])[i], next[i]));
  }
  EXPECT_FALSE(norms[0]->frozen) << "only while the method runs";
}

TEST(Sfda, TwoPicturesAreEnough) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  const Recorder recorder = adapt(ensemble, test::noise_pictures(2), quick());
  EXPECT_EQ(recorder.steps, 2);
}

TEST(Sfda, RejectsTorchScriptSourcesByName) {
  torch::jit::Module module("net");
  module.register_parameter("w", test::normals({3 * 32 * 32, 6}, 1).requires_grad_(), false);
  module.register_parameter("c", test::normals({6, 10}, 2).requires_grad_(), false);
  module.define(R"(
def features(self, x: Tensor) -> Tensor:
    return torch.matmul(torch.flatten(x, 1), self.w)
def classify(self, phi: Tensor) -> Tensor:
    return torch.matmul(phi, self.c)
)");
  std::ostringstream bytes;
  module.save(bytes);
  ModelInfo info = test::small_info();
  info.architecture = kTorchScript;
  info.name = "webcam";
  Ensemble ensemble;
  ensemble.sources.emplace_back(info, std::make_unique<ScriptedSource>(bytes.str(), "webcam.pt", "", 32));
  EXPECT_THAT([&] { adapt(ensemble, test::noise_pictures(8), quick()); },
              ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("webcam is TorchScript")));
}

TEST(Sfda, RunsOnAGpuWithCapturedSteps) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  const auto adapted = [](torch::Device device, bool cuda_graph) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    ensemble.to(device);
    MethodOptions common = quick(4);
    common.precision = Precision::kFloat32;
    common.cuda_graph = cuda_graph;
    return adapt(ensemble, test::noise_pictures(40), common, "sfda_refresh = 3\n").rounds.back().probabilities.cpu();
  };
  const torch::Device gpu(torch::kCUDA, 0);
  EXPECT_TENSOR_NEAR(adapted(gpu, true), adapted(gpu, false), 1e-3);
  EXPECT_TENSOR_NEAR(adapted(gpu, true), adapted(torch::kCPU, false), 1e-2);
}

}  // namespace
}  // namespace tributary

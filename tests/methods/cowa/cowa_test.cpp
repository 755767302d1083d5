#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/methods/baselines.h"
#include "tributary/train/memory_retry.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

using test::after;
using test::quick;
using test::Recorder;

Recorder adapted_by_cowa(Ensemble& ensemble, const ImageSet& images, const std::string& options = "cowa_warm_up = 0\n",
                         const MethodOptions& common = quick()) {
  Recorder recorder;
  test::configured(cowa_method(), options, common)->adapt(ensemble, images, recorder);
  return recorder;
}

Recorder adapted_by_cowa(const std::string& options, const MethodOptions& common = quick()) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  return adapted_by_cowa(ensemble, test::noise_pictures(30), "cowa_warm_up = 0\n" + options, common);
}

TEST(Cowa, RunsToItsEndAndTrainsEveryPart) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  freeze(ensemble.sources.front().classifier_parameters());  // as another method may have left it
  std::vector<NamedTensors> before;
  for (const SourceModel& source : ensemble.sources) before.push_back(copy_of(source.state()));
  const Recorder recorder = adapted_by_cowa(ensemble, test::noise_pictures(30));
  ASSERT_EQ(recorder.rounds.size(), 3u);
  EXPECT_EQ(recorder.steps, 2 * 2 * 4);
  EXPECT_EQ(ensemble.mixture.rule, Combination::kMeanProbability);
  const RoundEvent& last = recorder.rounds.back();
  EXPECT_TENSOR_NEAR(last.probabilities, last.logits.softmax(-1).mean(0), 1e-6);
  std::vector<std::string> losses;
  for (const auto& [name, means] : last.means) {
    losses.push_back(name);
    EXPECT_EQ(means.size(), 2u) << name;
  }
  EXPECT_THAT(losses, testing::UnorderedElementsAre("weight_mixup", "confidence", "median_confidence",
                                                    "effective_samples", "relabelled", "live_classes", "jitter"));
  EXPECT_GE(last.means.at("jitter").front(), 0.99e-6);
  EXPECT_GT(last.means.at("effective_samples").front(), 1);
  for (size_t j = 0; j < before.size(); ++j) {
    const NamedTensors now = ensemble.sources[j].state();
    for (size_t i = 0; i < now.size(); ++i) EXPECT_FALSE(torch::equal(before[j][i].value, now[i].value)) << now[i].name;
  }
}

TEST(Cowa, RepeatsItselfToTheLastBitAndFollowsTheSeed) {
  const auto with_seed = [](uint64_t seed) {
    MethodOptions common = quick();
    common.seed = seed;
    return after(adapted_by_cowa("", common), 2);
  };
  EXPECT_TENSOR_EQ(with_seed(1), with_seed(1));
  EXPECT_GT(test::distance(with_seed(1), with_seed(2)), 1e-5);
}

TEST(Cowa, DoesTheSameWithPicturesThatDoNotFitInMemory) {
  const auto probabilities = [](const ImageSet& images) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    return after(adapted_by_cowa(ensemble, images), 2);
  };
  const ImageSet images = test::noise_pictures(25);
  EXPECT_TENSOR_EQ(probabilities(test::streamed(images)), probabilities(images));
}

TEST(Cowa, DoesTheSameInMicroBatches) {
  const auto probabilities = [](int64_t micro_batch) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    if (micro_batch > 0) set_memory(ensemble.sources.front(), {Recompute::kNone, micro_batch});
    return after(adapted_by_cowa(ensemble, test::noise_pictures(24)), 1);
  };
  EXPECT_TENSOR_NEAR(probabilities(3), probabilities(0), 1e-4);
}

TEST(Cowa, EveryOptionChangesTheResult) {
  const Tensor usual = after(adapted_by_cowa(""), 2);
  for (const std::string option : {"cowa_alpha = 0.3\n", "cowa_alpha = 0.0\n", "cowa_score = \"lpg\"\n",
                                   "cowa_score = \"ppl\"\n", "cowa_score = \"none\"\n", "cowa_cosine = false\n",
                                   "cowa_gap_quantile = 0.6\n", "cowa_freeze_classifier = true\n"})
    EXPECT_GT(test::distance(after(adapted_by_cowa(option), 2), usual), 1e-7) << option;
}

TEST(Cowa, LeavesAFrozenClassifierAsItWas) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  const NamedTensors before = copy_of(ensemble.sources.front().classifier_parameters());
  adapted_by_cowa(ensemble, test::noise_pictures(16), "cowa_warm_up = 0\ncowa_freeze_classifier = true\n");
  const NamedTensors now = ensemble.sources.front().classifier_parameters();
  for (size_t i = 0; i < now.size(); ++i) EXPECT_TENSOR_EQ(now[i].value.detach(), before[i].value);
}

// As if the loss were zero: decay moves the parameters, and BatchNorm sees the target.
TEST(Cowa, AWarmUpIsWeightDecayAndNewStatistics) {
  Ensemble ensemble = test::small_ensemble({"dtn"}), decayed = test::small_ensemble({"dtn"});
  MethodOptions common = quick(10);
  adapted_by_cowa(ensemble, test::noise_pictures(8), "cowa_warm_up = 10\n", common);
  const SourceModel &source = ensemble.sources.front(), &other = decayed.sources.front();
  Sgd sgd({{other.backbone_parameters(), 1e-2},
           {other.bottleneck_parameters(), 1e-2},
           {other.classifier_parameters(), 1e-3}},
          {});
  for (int step = 0; step < 10; ++step) {
    for (const NamedTensors& part :
         {other.backbone_parameters(), other.bottleneck_parameters(), other.classifier_parameters()})
      for (const NamedTensor& parameter : part) parameter.value.mutable_grad() = torch::zeros_like(parameter.value);
    sgd.step(1.0);
  }
  const NamedTensors now = source.state(), expected = other.state();
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i].name.ends_with("running_mean")) {
      EXPECT_GT(test::distance(now[i].value, expected[i].value), 1e-3) << now[i].name;
    } else if (now[i].name.find("running") == std::string::npos && now[i].name.find("tracked") == std::string::npos) {
      EXPECT_LT(test::distance(now[i].value, expected[i].value), 1e-4) << now[i].name;
    }
  }
}

TEST(Cowa, HasConstantRatesAndTheClassifierATenthOfTheBottlenecks) {
  const auto method = test::configured(cowa_method(), "", MethodOptions());
  const TrainingSchedule schedule =
      dynamic_cast<LearnedMethod&>(*method).schedule(test::small_ensemble({"lenet"}), 400);
  EXPECT_FALSE(schedule.decay);
  EXPECT_EQ(schedule.rounds, 30);
  EXPECT_EQ(schedule.batch, 64);
  // A first step with Nesterov momentum moves a parameter by its rate times 1.9 (slope + 1e-3 value): five times the
  // rate of the bottleneck moves the classifier five times as far.
  const auto moved = [](double rate) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    const Tensor before = ensemble.sources.front().classifier_parameters().front().value.detach().clone();
    MethodOptions common = quick(1);
    common.rate_bottleneck = rate;
    adapted_by_cowa(ensemble, test::noise_pictures(8), "cowa_warm_up = 0\n", common);
    return ensemble.sources.front().classifier_parameters().front().value.detach() - before;
  };
  const Tensor once = moved(1e-2), five_times = moved(5e-2);
  EXPECT_GT(once.abs().max().item<double>(), 1e-6);
  EXPECT_TENSOR_NEAR(five_times, 5 * once, 1e-6);
}

TEST(Cowa, TakesTheHyperParametersOfTheBenchmark) {
  const auto of = [](const std::string& benchmark, const std::string& options) {
    MethodOptions common = quick();
    common.benchmark = benchmark;
    common.rate_backbone = common.rate_bottleneck = 1e-2;
    return after(adapted_by_cowa(options, common), 2);
  };
  EXPECT_TENSOR_EQ(of("office-31", ""), of("", "cowa_alpha = 0.2\n"));
  EXPECT_TENSOR_EQ(of("office-home/art", ""), of("", "cowa_alpha = 0.2\n"));
  EXPECT_TENSOR_EQ(of("domainnet/real", ""), of("", "cowa_alpha = 1.0\ncowa_epsilon = 1e-5\n"));
  EXPECT_TENSOR_EQ(of("digit-five", ""), of("", ""));
}

TEST(Cowa, AugmentsABatchAlikeOnRequest) {
  const auto of = [](const std::string& options) {
    MethodOptions common = quick(1);
    common.augmentation.shift = 4;
    return after(adapted_by_cowa(options, common), 1);
  };
  EXPECT_GT(test::distance(of("cowa_batch_augment = true\n"), of("")), 1e-6);
}

TEST(Cowa, TwoPicturesAreEnoughAndOneIsRefused) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  EXPECT_TRUE(after(adapted_by_cowa(ensemble, test::noise_pictures(2)), 2).isfinite().all().item<bool>());
  EXPECT_THROW(adapted_by_cowa(ensemble, test::noise_pictures(1)), InputError);
}

TEST(Cowa, DoesTheSameOnAGpuWithCapturedSteps) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  const auto probabilities = [](bool cuda_graph) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    ensemble.to(torch::Device(torch::kCUDA, 0));
    MethodOptions common = quick(3);
    common.precision = Precision::kFloat32;
    common.cuda_graph = cuda_graph;
    return after(adapted_by_cowa(ensemble, test::noise_pictures(40), "cowa_warm_up = 1\n", common), 3).cpu();
  };
  EXPECT_TENSOR_NEAR(probabilities(true), probabilities(false), 1e-3);
}

}  // namespace
}  // namespace tributary

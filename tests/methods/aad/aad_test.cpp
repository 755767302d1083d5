#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/benchmarks/hyper_parameters.h"
#include "tributary/methods/baselines.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

using test::after;
using test::quick;
using test::Recorder;

Recorder adapted_by_aad(Ensemble& ensemble, const ImageSet& images, const std::string& options = "",
                        const MethodOptions& common = quick()) {
  Recorder recorder;
  test::configured(aad_method(), options, common)->adapt(ensemble, images, recorder);
  return recorder;
}

Recorder adapted_by_aad(const std::string& options, const MethodOptions& common = quick()) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  return adapted_by_aad(ensemble, test::noise_pictures(30), options, common);
}

TEST(Aad, RunsToItsEndAndTrainsEveryPart) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  freeze(ensemble.sources.front().classifier_parameters());  // as another method may have left it
  std::vector<NamedTensors> before;
  for (const SourceModel& source : ensemble.sources) before.push_back(copy_of(source.state()));
  const Recorder recorder = adapted_by_aad(ensemble, test::noise_pictures(30));
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
  EXPECT_THAT(losses, testing::UnorderedElementsAre("attraction", "dispersion", "lambda"));
  for (size_t j = 0; j < before.size(); ++j) {
    const NamedTensors now = ensemble.sources[j].state();
    for (size_t i = 0; i < now.size(); ++i) EXPECT_FALSE(torch::equal(before[j][i].value, now[i].value)) << now[i].name;
  }
}

// Keeps what a checkpoint would save, before every step.
struct Bank : Checkpointer {
  void save_if_due(const Take& take) override { features.push_back(take().at("learner.0.banks.features").clone()); }
  std::vector<Tensor> features;
};

TEST(Aad, WritesTheBankRowsOfItsBatchesAlone) {
  Ensemble ensemble = test::small_ensemble({"dtn"});
  Bank bank;
  Recorder recorder;
  test::configured(aad_method(), "", quick(1))->adapt(ensemble, test::noise_pictures(64), recorder, bank);
  ASSERT_GT(bank.features.size(), 6u);
  const Tensor changed = (bank.features[5] != bank.features[0]).any(1);
  EXPECT_EQ(changed.sum().item<int64_t>(), 5 * 8) << "five steps of eight pictures, 24 others unseen";
  EXPECT_TENSOR_NEAR(bank.features[5].norm(2, {1}), torch::ones({64}), 1e-5);
}

TEST(Aad, RepeatsItselfToTheLastBitAndFollowsTheSeed) {
  const auto with_seed = [](uint64_t seed) {
    MethodOptions common = quick();
    common.seed = seed;
    return after(adapted_by_aad("", common), 2);
  };
  EXPECT_TENSOR_EQ(with_seed(1), with_seed(1));
  EXPECT_GT(test::distance(with_seed(1), with_seed(2)), 1e-5);
}

TEST(Aad, DoesTheSameWithPicturesThatDoNotFitInMemory) {
  const auto probabilities = [](const ImageSet& images) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    return after(adapted_by_aad(ensemble, images), 2);
  };
  const ImageSet images = test::noise_pictures(25);
  EXPECT_TENSOR_EQ(probabilities(test::streamed(images)), probabilities(images));
}

// The dispersion couples all rows of a batch, so it must see them all.
TEST(Aad, DoesTheSameInMicroBatches) {
  const auto probabilities = [](int64_t micro_batch) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    if (micro_batch > 0) set_memory(ensemble.sources.front(), {Recompute::kNone, micro_batch});
    return after(adapted_by_aad(ensemble, test::noise_pictures(24), "aad_beta = 0.0\n"), 2);
  };
  EXPECT_TENSOR_NEAR(probabilities(3), probabilities(0), 1e-4);
}

TEST(Aad, HasFewerNeighboursInTheSecondHalfAlone) {
  const Recorder steady = adapted_by_aad("aad_neighbours = 3\n");
  const Recorder fewer = adapted_by_aad("aad_neighbours = 3\naad_later_neighbours = 2\n");
  EXPECT_TENSOR_NEAR(after(fewer, 1), after(steady, 1), 1e-5);
  EXPECT_GT(test::distance(after(fewer, 2), after(steady, 2)), 1e-6);
}

TEST(Aad, EveryOptionChangesTheResult) {
  const Tensor usual = after(adapted_by_aad("aad_beta = 1.0\n"), 2);
  for (const std::string option : {"aad_alpha = 2.0\n", "aad_one_sided = true\n", "aad_schedule = \"constant\"\n",
                                   "aad_whole_batches = true\n", "aad_neighbours = 1\n"})
    EXPECT_GT(test::distance(after(adapted_by_aad("aad_beta = 1.0\n" + option), 2), usual), 1e-7) << option;
  EXPECT_EQ(adapted_by_aad("aad_whole_batches = true\n").steps, 2 * 3);
}

TEST(Aad, TakesTheHyperParametersOfTheBenchmark) {
  const auto of = [](const std::string& benchmark, const std::string& options) {
    MethodOptions common = quick();
    common.benchmark = benchmark;
    return after(adapted_by_aad(options, common), 2);
  };
  EXPECT_TENSOR_EQ(
      of("office-home/art", ""),
      of("", "aad_neighbours = 3\naad_later_neighbours = 2\naad_beta = 0.0\naad_schedule = \"constant\"\n"));
  EXPECT_TENSOR_EQ(of("office-31", ""), of("", "aad_neighbours = 3\naad_beta = 1.0\naad_schedule = \"constant\"\n"));
  EXPECT_TENSOR_EQ(of("digit-five", ""), of("", ""));
  EXPECT_TENSOR_EQ(of("", ""), of("", "aad_neighbours = 5\naad_beta = 5.0\naad_schedule = \"decay\"\n"));
}

TEST(AadHyperParameters, OfOtherPhotographsGoByClassesAndPictures) {
  const AadHyperParameters small = aad_hyper_parameters("", true, 12, 900);
  EXPECT_EQ(small.neighbours, 3);
  EXPECT_EQ(small.beta, 5);
  EXPECT_EQ(small.epochs, 50);
  EXPECT_TRUE(small.decay);
  const AadHyperParameters medium = aad_hyper_parameters("", true, 31, 4000);
  EXPECT_EQ(medium.beta, 1);
  EXPECT_EQ(medium.epochs, 40);
  const AadHyperParameters large = aad_hyper_parameters("", true, 65, 5000);
  EXPECT_EQ(large.neighbours, 5);
  EXPECT_EQ(large.beta, 0);
  EXPECT_EQ(large.epochs, 15);
  EXPECT_EQ(aad_hyper_parameters("domainnet/real", true, 345, 100).beta, 0);
}

TEST(Aad, TwoPicturesAreEnoughAndOneIsRefused) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  EXPECT_TRUE(after(adapted_by_aad(ensemble, test::noise_pictures(2)), 2).isfinite().all().item<bool>());
  EXPECT_THROW(adapted_by_aad(ensemble, test::noise_pictures(1)), InputError);
}

TEST(Aad, DoesTheSameOnAGpuWithCapturedSteps) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  const auto probabilities = [](bool cuda_graph) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    ensemble.to(torch::Device(torch::kCUDA, 0));
    MethodOptions common = quick(6);
    common.benchmark = "office-home/art";  // whose neighbours change halfway
    common.precision = Precision::kFloat32;
    common.cuda_graph = cuda_graph;
    return after(adapted_by_aad(ensemble, test::noise_pictures(40), "aad_beta = 1.0\n", common), 6).cpu();
  };
  EXPECT_TENSOR_NEAR(probabilities(true), probabilities(false), 1e-3);
}

}  // namespace
}  // namespace tributary

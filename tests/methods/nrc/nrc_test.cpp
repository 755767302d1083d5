#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/methods/baselines.h"

namespace tributary {
namespace {

using test::after;
using test::quick;
using test::Recorder;

// Adapts with the options of a TOML text.
Recorder adapted_by_nrc(Ensemble& ensemble, const ImageSet& images, const std::string& options = "",
                        const MethodOptions& common = quick()) {
  Recorder recorder;
  test::configured(nrc_method(), options, common)->adapt(ensemble, images, recorder);
  return recorder;
}

Recorder adapted_by_nrc(const std::string& options, const MethodOptions& common = quick()) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  return adapted_by_nrc(ensemble, test::noise_pictures(30), options, common);
}

TEST(Nrc, TrainsEveryPart) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  std::vector<NamedTensors> before;
  for (const SourceModel& source : ensemble.sources) before.push_back(copy_of(source.state()));
  const Recorder recorder = adapted_by_nrc(ensemble, test::noise_pictures(30));
  ASSERT_EQ(recorder.rounds.size(), 3u);
  EXPECT_EQ(recorder.steps, 2 * 2 * 4);
  EXPECT_EQ(ensemble.mixture.rule, Combination::kMeanProbability);
  EXPECT_TRUE(after(recorder, 2).isfinite().all().item<bool>());
  std::vector<std::string> losses;
  for (const auto& [name, means] : recorder.rounds.back().means) {
    losses.push_back(name);
    EXPECT_EQ(means.size(), 2u) << name;
  }
  EXPECT_THAT(losses, testing::UnorderedElementsAre("neighbours", "expanded", "diversity"));
  // NRC freezes nothing, not even the classifier.
  for (size_t j = 0; j < before.size(); ++j) {
    const NamedTensors now = ensemble.sources[j].state();
    for (size_t i = 0; i < now.size(); ++i) EXPECT_FALSE(torch::equal(before[j][i].value, now[i].value)) << now[i].name;
  }
}

TEST(Nrc, IsBitwiseReproducibleAndDependsOnTheSeed) {
  const auto with_seed = [](uint64_t seed) {
    MethodOptions common = quick();
    common.seed = seed;
    return after(adapted_by_nrc("", common), 2);
  };
  EXPECT_TENSOR_EQ(with_seed(1), with_seed(1));
  EXPECT_GT(test::distance(with_seed(1), with_seed(2)), 1e-5);
}

TEST(Nrc, StreamedPicturesGiveTheSameResult) {
  const auto probabilities = [](const ImageSet& images) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    return after(adapted_by_nrc(ensemble, images), 2);
  };
  const ImageSet images = test::noise_pictures(25);
  EXPECT_TENSOR_EQ(probabilities(test::streamed(images)), probabilities(images));
}

TEST(Nrc, UnfreezesTheClassifier) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  freeze(ensemble.sources.front().classifier_parameters());
  const NamedTensors before = copy_of(ensemble.sources.front().classifier_parameters());
  adapted_by_nrc(ensemble, test::noise_pictures(16));
  const NamedTensors now = ensemble.sources.front().classifier_parameters();
  for (size_t i = 0; i < now.size(); ++i) EXPECT_FALSE(torch::equal(before[i].value, now[i].value)) << now[i].name;
}

TEST(Nrc, UsesLaterNeighbourCountsInTheSecondHalf) {
  const Recorder steady = adapted_by_nrc("nrc_neighbours = 3\nnrc_expanded = 2\n");
  const Recorder growing =
      adapted_by_nrc("nrc_neighbours = 3\nnrc_expanded = 2\nnrc_later_neighbours = 5\nnrc_later_expanded = 4\n");
  EXPECT_TENSOR_NEAR(after(growing, 1), after(steady, 1), 1e-5);
  EXPECT_GT(test::distance(after(growing, 2), after(steady, 2)), 1e-5);
}

TEST(Nrc, UsesTheNumbersOfTheBenchmark) {
  const auto of = [](const std::string& benchmark, const std::string& options) {
    MethodOptions common = quick();
    common.benchmark = benchmark;
    common.rate_backbone = common.rate_bottleneck = 1e-3;
    return after(adapted_by_nrc(options, common), 2);
  };
  const std::string by_hand =
      "nrc_neighbours = 3\nnrc_expanded = 2\nnrc_later_neighbours = 5\nnrc_later_expanded = 4\n"
      "nrc_schedule = \"constant\"\n";
  EXPECT_TENSOR_EQ(of("office-home/art", ""), of("", by_hand));
  EXPECT_TENSOR_EQ(of("office-31", ""), of("", "nrc_neighbours = 2\nnrc_expanded = 3\n"));
  EXPECT_TENSOR_EQ(of("digit-five", ""), of("", ""));
  EXPECT_GT(test::distance(of("office-home/art", ""), of("", "")), 1e-5);
}

TEST(Nrc, TrainsTheBackboneOfDigitsAtATenthOfTheHeadsRate) {
  const auto of = [](double rate_backbone, double rate_head) {
    MethodOptions common = quick();
    common.rate_backbone = rate_backbone;
    common.rate_bottleneck = rate_head;
    return after(adapted_by_nrc("", common), 2);
  };
  EXPECT_TENSOR_EQ(of(/*the defaults*/ 0, -1), of(1e-4, 1e-3));
  EXPECT_GT(test::distance(of(0, -1), of(1e-3, 1e-3)), 1e-6);
}

TEST(Nrc, PapersFormIsAnOption) {
  const Recorder paper = adapted_by_nrc("nrc_self = \"loss\"\n");
  EXPECT_LT(paper.rounds.back().means.at("self").front(), 0);
  EXPECT_GT(test::distance(after(paper, 2), after(adapted_by_nrc(""), 2)), 1e-6);
}

TEST(Nrc, NeedsAtLeastTwoPictures) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  EXPECT_TRUE(after(adapted_by_nrc(ensemble, test::noise_pictures(2)), 2).isfinite().all().item<bool>());
  EXPECT_THROW(adapted_by_nrc(ensemble, test::noise_pictures(1)), InputError);
}

TEST(Nrc, CapturedStepsMatchEagerOnes) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  const auto probabilities = [](bool cuda_graph) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    ensemble.to(torch::Device(torch::kCUDA, 0));
    MethodOptions common = quick();
    common.benchmark = "office-home/art";  // its neighbour counts change halfway
    common.epochs = 6;
    common.precision = Precision::kFloat32;
    common.cuda_graph = cuda_graph;
    return after(adapted_by_nrc(ensemble, test::noise_pictures(40), "", common), 6).cpu();
  };
  EXPECT_TENSOR_NEAR(probabilities(true), probabilities(false), 1e-3);
}

}  // namespace
}  // namespace tributary

#include "tributary/methods/selective/selective.h"

#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/methods/selective/selective_step.h"
#include "tributary/methods/selective/target_state.h"

namespace tributary {
namespace {

SelectiveOptions quick_options() {
  SelectiveOptions options;
  options.rounds = 2;
  options.inner_epochs = 1;
  options.batch = 8;
  options.lambda_alpha = 1;  // leaves some noise pictures unconfident
  options.aggregation.steps = 20;
  return options;
}

struct RoundRecorder : Observer {
  std::vector<RoundEvent> rounds;
  std::vector<int64_t> confident;
  int64_t steps = 0;
  void on_step(const StepEvent&) override { ++steps; }
  void on_round(const RoundEvent& event) override {
    rounds.push_back(event);
    confident.push_back(event.trained ? event.trained->confident.size(0) : -1);
  }
};

std::vector<NamedTensors> classifiers(const Ensemble& ensemble) {
  std::vector<NamedTensors> all;
  for (const SourceModel& source : ensemble.sources) all.push_back(copy_of(source.classifier_parameters()));
  return all;
}

TEST(Selective, CoversTheTargetAndKeepsClassifiersFrozen) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  const auto before = classifiers(ensemble);
  RoundRecorder recorder;
  SelectiveSelfTraining(quick_options()).adapt(ensemble, test::noise_pictures(30), recorder);
  ASSERT_EQ(recorder.rounds.size(), 3u);
  EXPECT_EQ(recorder.confident.back(), 30);
  EXPECT_FALSE(recorder.rounds.back().losses.aligned) << "no sample is left to align with";
  EXPECT_EQ(ensemble.mixture.rule, Combination::kWeightedLogits);
  const auto after = classifiers(ensemble);
  for (size_t j = 0; j < before.size(); ++j)
    for (size_t i = 0; i < before[j].size(); ++i)
      EXPECT_TRUE(torch::equal(before[j][i].value, after[j][i].value)) << before[j][i].name;
}

TEST(Selective, DropsBatchesBelowTheMinimum) {
  const auto steps = [](double least_batch) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    SelectiveOptions options = quick_options();
    options.rounds = 1;
    options.batch = 16;
    options.least_batch = least_batch;
    RoundRecorder recorder;
    SelectiveSelfTraining(options).adapt(ensemble, test::noise_pictures(34), recorder);
    return recorder.steps;
  };
  EXPECT_EQ(steps(0), 3) << "16, 16 and 2";
  EXPECT_EQ(steps(0.25), 2);
}

TEST(Selective, IsBitwiseReproducibleAndDependsOnTheSeed) {
  const auto adapted = [](int64_t seed) {
    Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
    SelectiveOptions options = quick_options();
    options.seed = seed;
    RoundRecorder recorder;
    SelectiveSelfTraining(options).adapt(ensemble, test::noise_pictures(25), recorder);
    return recorder.rounds.back().probabilities;
  };
  EXPECT_TENSOR_EQ(adapted(1), adapted(1));
  EXPECT_GT(test::distance(adapted(1), adapted(2)), 1e-4);
}

TEST(Selective, StreamedPicturesGiveTheSameResult) {
  const auto adapted = [](const ImageSet& images) {
    Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
    RoundRecorder recorder;
    SelectiveSelfTraining(quick_options()).adapt(ensemble, images, recorder);
    return recorder.rounds.back().probabilities;
  };
  const ImageSet images = test::noise_pictures(25);
  EXPECT_TENSOR_EQ(adapted(test::streamed(images)), adapted(images));
}

// n_u in {0, 1, 2} and n_l = 2 all terminate; there is no adversary if n_u < 2.
TEST(Selective, HandlesAnyNumberOfUnconfidentSamples) {
  for (const int64_t unconfident : {0, 1, 2, 8}) {
    const int64_t total = 10;
    Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
    SelectiveOptions options = quick_options();
    options.rounds = 1;
    // The test chooses the size of the oracle's selection: exactly the samples whose truth is the pseudo-label.
    const ImageSet images = test::noise_pictures(total);
    const TargetState state = first_state(ensemble, DeviceImages(images, torch::kCPU), options);
    Labels truth{ensemble.classes(), {}};
    const Tensor pseudo = state.score.argmax(-1);
    for (int64_t i = 0; i < total; ++i)
      truth.values.push_back((pseudo[i].item<int64_t>() + (i < unconfident ? 1 : 0)) % 10);
    RoundRecorder recorder;
    Checkpointer none;
    adapt_with_oracle(ensemble, images, truth, options, recorder, none);
    EXPECT_EQ(recorder.confident.back(), total - unconfident);
    EXPECT_EQ(recorder.rounds.back().losses.aligned, unconfident >= 2);
    EXPECT_GT(recorder.steps, 0);
  }
}

TEST(Selective, OracleTrainsOnAtLeastTwoSamples) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  SelectiveOptions options = quick_options();
  options.rounds = 1;
  const ImageSet images = test::noise_pictures(6);
  const Tensor pseudo = first_state(ensemble, DeviceImages(images, torch::kCPU), options).score.argmax(-1);
  Labels truth{ensemble.classes(), {}};
  for (int64_t i = 0; i < 6; ++i) truth.values.push_back((pseudo[i].item<int64_t>() + 1) % 10);
  RoundRecorder recorder;
  Checkpointer none;
  adapt_with_oracle(ensemble, images, truth, options, recorder, none);
  EXPECT_EQ(recorder.confident.back(), 2);
}

TEST(Selective, NeedsAtLeastTwoPictures) {
  Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
  RoundRecorder recorder;
  SelectiveSelfTraining(quick_options()).adapt(ensemble, test::noise_pictures(2), recorder);
  EXPECT_EQ(recorder.confident.back(), 2);
  EXPECT_THROW(SelectiveSelfTraining(quick_options()).adapt(ensemble, test::noise_pictures(1), recorder), InputError);
}

TEST(Selective, StartsAsMeanLogitEnsembleWithoutLearnedWeights) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn", "lenet"});
  SelectiveOptions options = quick_options();
  options.ablations = {"weights", "denoise"};
  apply_ablations(options);
  const TargetState state = first_state(ensemble, DeviceImages(test::noise_pictures(12), torch::kCPU), options);
  EXPECT_TENSOR_NEAR(state.probabilities, combine(state.logits, {Combination::kMeanLogit, {}}), 1e-6);
  EXPECT_TENSOR_EQ(state.score, state.probabilities);
}

TEST(Selective, GpuStartsLikeTheCpuAndFinishes) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  const ImageSet images = test::noise_pictures(40);
  const auto adapted = [&](torch::Device device) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    ensemble.to(device);
    RoundRecorder recorder;
    SelectiveSelfTraining(quick_options()).adapt(ensemble, images, recorder);
    return recorder;
  };
  const RoundRecorder cpu = adapted(torch::kCPU);
  const RoundRecorder gpu = adapted(torch::Device(torch::kCUDA, 0));
  EXPECT_TENSOR_NEAR(gpu.rounds.front().probabilities.cpu(), cpu.rounds.front().probabilities, 1e-2);
  EXPECT_EQ(gpu.confident, cpu.confident);
  EXPECT_TRUE(gpu.rounds.back().probabilities.isfinite().all().item<bool>());
}

class EveryReading : public ::testing::TestWithParam<Variant> {};

TEST_P(EveryReading, RunsToItsEnd) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  SelectiveOptions options = quick_options();
  apply_variant(options, GetParam());
  options.aggregation.steps = 20;
  options.rounds = 2;
  options.leave_dominated = false;  // untrained sources predict one class
  RoundRecorder recorder;
  SelectiveSelfTraining(options).adapt(ensemble, test::noise_pictures(30), recorder);
  EXPECT_EQ(recorder.rounds.size(), 3u);
  EXPECT_TRUE(recorder.rounds.back().probabilities.isfinite().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Readings, EveryReading,
                         ::testing::Values(Variant::kRecommended, Variant::kPaper, Variant::kCode,
                                           Variant::kTributary));

TEST(Selective, LeavesADominatedTargetUntrained) {
  Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
  ensemble.sources[1].restore(copy_of(ensemble.sources[0].state()));  // agrees with the first
  const NamedTensors before = copy_of(ensemble.state());
  SelectiveOptions options = quick_options();
  options.class_cap = 1.5;
  options.leave_dominated = true;
  RoundRecorder recorder;
  // Equal pictures get equal labels: 27 of 30 are one class, if not more.
  ImageSet pictures = test::noise_pictures(30);
  std::fill(pictures.pixels.begin() + 3 * pictures.picture_bytes(), pictures.pixels.end(), uint8_t{128});
  SelectiveSelfTraining(options).adapt(ensemble, pictures, recorder);
  ASSERT_EQ(recorder.rounds.size(), 1u);
  EXPECT_GE(recorder.rounds.front().largest_share, 0.9);
  EXPECT_THAT(recorder.rounds.front().finished, ::testing::HasSubstr("% of the pictures by the unadapted sources'"));
  const NamedTensors after = ensemble.state();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(torch::equal(before[i].value, after[i].value));
  // Weights of equal sources change no label, so nothing supports them.
  EXPECT_EQ(ensemble.mixture.rule, Combination::kMeanProbability);
  EXPECT_TENSOR_EQ(recorder.rounds.front().probabilities, combine(recorder.rounds.front().logits, Mixture()));
}

// Equal sources agree on equal pictures, which are one class by their labels. Without a class cap nobody looks at the
// size of the classes.
TEST(Selective, EstimatesTheClassPriorOfSkewedTargetsOnly) {
  Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
  ensemble.sources[1].restore(copy_of(ensemble.sources[0].state()));
  ImageSet pictures = test::noise_pictures(30);
  std::fill(pictures.pixels.begin() + 3 * pictures.picture_bytes(), pictures.pixels.end(), uint8_t{128});
  const DeviceImages images(pictures, torch::kCPU);
  const auto trust = [&](const std::string& prior, double cap) {
    SelectiveOptions options = quick_options();
    options.class_prior = prior;
    options.class_cap = cap;
    return first_state(ensemble, images, options).trust;
  };
  EXPECT_EQ(trust("uniform", 1.5), 0);
  EXPECT_EQ(trust("skewed", 0), 0);
  EXPECT_GT(trust("auto", 0), 0);
  EXPECT_GT(trust("skewed", 1.5), 0);
}

class EveryAblation : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryAblation, RunsAndChangesTheResult) {
  const auto adapted = [](std::vector<std::string> ablations) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    SelectiveOptions options = quick_options();
    options.ablations = std::move(ablations);
    apply_ablations(options);
    RoundRecorder recorder;
    SelectiveSelfTraining(options).adapt(ensemble, test::noise_pictures(30), recorder);
    return recorder.rounds.back();
  };
  const RoundEvent whole = adapted({});
  const RoundEvent reduced = adapted({GetParam()});
  EXPECT_GT(test::distance(whole.logits, reduced.logits) + test::distance(whole.probabilities, reduced.probabilities),
            1e-6);
  if (std::string(GetParam()) == "weights") {
    EXPECT_TENSOR_NEAR(reduced.weights, torch::full({2}, 0.5), 0);
  }
  if (std::string(GetParam()) == "alignment") {
    EXPECT_EQ(reduced.losses.adversarial, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Ablations, EveryAblation,
                         ::testing::Values("weights", "denoise", "information-all", "information-loss", "alignment",
                                           "mixup"));

TEST(SelectiveStep, PairedLoadersAndMixedSetsRun) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  SelectiveOptions options = quick_options();
  options.pairing = LoaderPairing::kPaired;
  options.information_set = InformationSet::kMixed;
  options.adversarial_set = AdversarialSet::kMixed;
  options.first_labels = FirstLabels::kMixture;
  RoundRecorder recorder;
  SelectiveSelfTraining(options).adapt(ensemble, test::noise_pictures(40), recorder);
  EXPECT_EQ(recorder.rounds.size(), 3u);
}

TEST(SelectiveOptions, FlagsOverrideFilesOverridePresets) {
  SelectiveOptions options;
  OptionTable table;
  declare(table, options);
  table.read_toml_text("[adapt]\nreading = \"code\"\nbenchmark = \"office-31\"\nrounds = 5\n", "x.toml");
  resolve_options(table, options);
  EXPECT_EQ(options.aggregation.steps, 20000) << "from the variant";
  EXPECT_EQ(options.batch, 32) << "from the benchmark";
  EXPECT_EQ(options.lambda_ce, 0.1);
  EXPECT_EQ(options.rounds, 5) << "from the file";
}

TEST(SelectiveOptions, MatchThePapersTable) {
  SelectiveOptions options;
  apply_benchmark(options, "digit-five");
  EXPECT_EQ(options.batch, 64);
  EXPECT_EQ(options.rounds, 20);
  EXPECT_EQ(options.lambda_ce, 0.2);
  EXPECT_EQ(options.lambda_alpha, 0.5);
  apply_benchmark(options, "domainnet/quickdraw");
  EXPECT_EQ(options.lambda_alpha, 1.0);
  EXPECT_EQ(options.rounds, 10);
  EXPECT_THROW(apply_benchmark(options, "imagenet"), InputError);
}

TEST(SelectiveOptions, RejectAnUnknownAblation) {
  SelectiveOptions options;
  options.ablations = {"gravity"};
  EXPECT_THROW(apply_ablations(options), InputError);
}

}  // namespace
}  // namespace tributary

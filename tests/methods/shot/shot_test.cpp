#include <ATen/record_function.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <string_view>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/methods/baselines.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

using test::quick;
using test::Recorder;

std::unique_ptr<Method> shot(const MethodOptions& common, const std::string& beta = "") {
  return test::configured(shot_method(), beta.empty() ? "" : "shot_beta = " + beta, common);
}

TEST(Shot, TrainsTheFeaturesAndKeepsTheClassifier) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  const NamedTensors classifier = copy_of(ensemble.sources[1].classifier_parameters());
  const NamedTensors before = copy_of(ensemble.sources[1].state());
  Recorder recorder;
  shot(quick())->adapt(ensemble, test::noise_pictures(30), recorder);
  ASSERT_EQ(recorder.rounds.size(), 3u);
  EXPECT_EQ(recorder.steps, 2 * 2 * 4) << "sources, epochs, batches of 8, 8, 8 and 6";
  EXPECT_EQ(ensemble.mixture.rule, Combination::kMeanProbability);
  const NamedTensors now = ensemble.sources[1].classifier_parameters();
  for (size_t i = 0; i < now.size(); ++i) EXPECT_TENSOR_EQ(now[i].value.detach(), classifier[i].value);
  int moved = 0;
  const NamedTensors after = ensemble.sources[1].state();
  for (size_t i = 0; i < after.size(); ++i) moved += !torch::equal(after[i].value.detach(), before[i].value);
  EXPECT_EQ(moved, static_cast<int>(after.size() - classifier.size())) << "all but the classifier";
}

// A bias before a BatchNorm has no gradient, so its weight decay shows the learning rate of every step.
TEST(Shot, RatesFallToTheLastFactorOfTheSchedule) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  NamedTensors bottleneck = ensemble.sources[0].bottleneck_parameters();
  const auto bias = std::find_if(bottleneck.begin(), bottleneck.end(),
                                 [](const NamedTensor& tensor) { return tensor.name == "bottleneck.linear.bias"; });
  ASSERT_NE(bias, bottleneck.end());
  bias->value.detach().fill_(1);
  MethodOptions options = quick();
  options.rate_bottleneck = 1;
  Recorder recorder;
  shot(options)->adapt(ensemble, test::noise_pictures(30), recorder);
  ASSERT_EQ(recorder.steps, 8);
  double expected = 1, velocity = 0;
  for (int64_t i = 1; i <= 8; ++i) {
    const double slope = 1e-3 * expected;
    velocity = 0.9 * velocity + slope;
    expected -= decay_factor(i, 8) * (slope + 0.9 * velocity);
  }
  EXPECT_TENSOR_NEAR(bias->value.detach(), torch::full_like(bias->value, expected), 1e-5);
  EXPECT_NEAR(decay_factor(8, 8), 0.165560, 1e-6);
}

TEST(Shot, IsReproducibleAndDependsOnTheSeed) {
  const auto adapted = [](uint64_t seed) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    MethodOptions options = quick();
    options.seed = seed;
    Recorder recorder;
    shot(options)->adapt(ensemble, test::noise_pictures(20), recorder);
    return recorder.rounds.back().probabilities;
  };
  EXPECT_TENSOR_EQ(adapted(1), adapted(1));
  EXPECT_GT(test::distance(adapted(1), adapted(2)), 1e-5);
}

// Counts calls of argmin, which assigns centroid labels.
int64_t assignments = 0;

std::unique_ptr<at::ObserverContext> count_assignments(const at::RecordFunction& call) {
  assignments += std::string_view(call.name()) == "aten::argmin";
  return nullptr;
}

TEST(Shot, SkipsPseudoLabelsOfWeightZero) {
  const auto assigned = [](const std::string& beta) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    Recorder recorder;
    assignments = 0;
    const at::CallbackHandle handle = at::addThreadLocalCallback(at::RecordFunctionCallback(count_assignments));
    shot(quick(), beta)->adapt(ensemble, test::noise_pictures(24), recorder);
    at::removeCallback(handle);
    return assignments;
  };
  EXPECT_EQ(assigned("0.5"), 2 * 2) << "rounds, passes";
  EXPECT_EQ(assigned("0.0"), 0);
}

// With beta 0 the labels have no effect.
TEST(Shot, OnlyMaximisesInformationWithoutLabels) {
  const auto losses = [](const std::string& beta) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    Recorder recorder;
    shot(quick(), beta)->adapt(ensemble, test::noise_pictures(24), recorder);
    return recorder.rounds.back().means;
  };
  const auto without = losses("0.0"), with = losses("0.5");
  EXPECT_EQ(without.at("cross_entropy").front(), 0);
  EXPECT_GT(with.at("cross_entropy").front(), 0);
}

// Nothing changes, and the rule is the mean of the probabilities.
TEST(SourceEnsemble, KeepsEverySource) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  const NamedTensors before = copy_of(ensemble.sources[1].state());
  Recorder recorder;
  const MethodEntry entry = source_ensemble_method();
  entry.make(quick())->adapt(ensemble, test::noise_pictures(10), recorder);
  ASSERT_EQ(recorder.rounds.size(), 1u);
  const NamedTensors after = ensemble.sources[1].state();
  for (size_t i = 0; i < after.size(); ++i) EXPECT_TENSOR_EQ(after[i].value.detach(), before[i].value);
  EXPECT_TENSOR_NEAR(recorder.rounds[0].probabilities, recorder.rounds[0].logits.softmax(-1).mean(0), 1e-6);
}

}  // namespace
}  // namespace tributary

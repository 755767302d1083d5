#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tensors.h"
#include "tributary/adapt/agreement.h"
#include "tributary/estimate/acceptance.h"
#include "tributary/estimate/accuracy_estimate.h"
#include "tributary/estimate/bootstrap.h"
#include "tributary/estimate/proportion.h"

namespace tributary {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;

constexpr int64_t kPictures = 3000, kClasses = 5;

Tensor truth() {
  return torch::arange(kPictures) % kClasses;
}

// Labels with independent errors, uniform over the wrong classes.
Tensor labels_of(double accuracy, uint64_t seed) {
  Tensor labels = truth();
  Random random(seed);
  for (int64_t i = 0; i < kPictures; ++i)
    if (!random.chance(accuracy))
      labels.data_ptr<int64_t>()[i] = (labels.data_ptr<int64_t>()[i] + 1 + random.below(kClasses - 1)) % kClasses;
  return labels;
}

Witnesses independent_witnesses() {
  return {at::stack({labels_of(0.9, 1), labels_of(0.8, 2), labels_of(0.7, 3)}), {}, kClasses};
}

TEST(AccuracyEstimate, RecoversTheAccuracyOfAnIndependentModel) {
  const auto estimate = estimate_accuracy(independent_witnesses(), labels_of(0.85, 4), /*model_error=*/0.05);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->accuracy, 0.85, 0.03);
  EXPECT_LT(estimate->interval.low, 0.85);
  EXPECT_GT(estimate->interval.high, 0.85);
  EXPECT_THAT(estimate->by_class, Each(DoubleNear(0.85, 0.08)));
  EXPECT_THAT(witness_accuracies(independent_witnesses()),
              testing::ElementsAre(DoubleNear(0.9, 0.02), DoubleNear(0.8, 0.02), DoubleNear(0.7, 0.02)));
}

TEST(AccuracyEstimate, DependsOnNeitherTheOrderNorTheNamesOfClasses) {
  Witnesses witnesses = independent_witnesses();
  const Tensor label = labels_of(0.85, 4);
  const auto estimate = estimate_accuracy(witnesses, label, 0.05);
  const Tensor order = torch::tensor(Random(5).permutation(kPictures), torch::kInt64);
  const Tensor renamed = test::indices({3, 1, 4, 0, 2});
  witnesses.label = renamed.index({witnesses.label.index_select(1, order)});
  const auto again = estimate_accuracy(witnesses, renamed.index({label.index_select(0, order)}), 0.05);
  ASSERT_TRUE(estimate && again);
  EXPECT_NEAR(again->accuracy, estimate->accuracy, 1e-12);
  EXPECT_NEAR(again->spread, estimate->spread, 1e-12);
}

TEST(AccuracyEstimate, TakesTheThresholdsOfTheSourcesIn) {
  Witnesses witnesses = independent_witnesses();
  const double without = witness_accuracies(witnesses)[1];
  witnesses.is_confident = {Tensor(), torch::arange(kPictures) < kPictures / 2, Tensor()};
  EXPECT_NEAR(witness_accuracies(witnesses)[1], (without + 0.5) / 2, 1e-12);
  EXPECT_NEAR(witness_accuracies(witnesses)[0], 0.9, 0.02);
}

TEST(AccuracyEstimate, StaysBelowItsCap) {
  const Tensor label = labels_of(0.95, 4);
  const auto estimate = estimate_accuracy(independent_witnesses(), label, 0.2, accuracy_cap(label, labels_of(0.75, 5)));
  ASSERT_TRUE(estimate);
  EXPECT_LE(estimate->accuracy, 0.88);
  EXPECT_LE(estimate->interval.high, 0.88);
}

TEST(AccuracyEstimate, NeedsAWitnessBetterThanChance) {
  const Tensor label = truth();
  EXPECT_FALSE(estimate_accuracy({label.unsqueeze(0), {}, kClasses}, label, 0));
  const Witnesses guessing{at::stack({labels_of(0.2, 1), labels_of(0.2, 2), labels_of(0.2, 3)}), {}, kClasses};
  EXPECT_FALSE(estimate_accuracy(guessing, label, 0));
}

TEST(AccuracyFromEvidence, RisesWithTheAgreement) {
  const Witnesses witnesses = independent_witnesses();
  const Tensor confidence = torch::full({kPictures}, 0.8);
  const auto estimate = [&](const Tensor& label) {
    return estimate_from_evidence(witnesses, {label, witnesses.label, confidence});
  };
  const auto good = estimate(labels_of(0.95, 4)), poor = estimate(labels_of(0.5, 4));
  ASSERT_TRUE(good && poor);
  EXPECT_GT(good->accuracy, poor->accuracy + 0.2);
  EXPECT_LT(good->interval.low, good->accuracy);
  EXPECT_GT(good->sampling_error, 0);
  EXPECT_FALSE(
      estimate_from_evidence({truth().unsqueeze(0), {}, kClasses}, {truth(), truth().unsqueeze(0), confidence}));
}

TEST(AccuracyFromEvidence, MeasuresKappaEvennessAndConfidence) {
  Witnesses witnesses = independent_witnesses();
  const Tensor confidence = torch::full({kPictures}, 0.8);
  const Evidence perfect = evidence_of(witnesses, {truth(), truth().unsqueeze(0).expand({3, -1}), confidence});
  EXPECT_DOUBLE_EQ(perfect.with_members, 1);
  EXPECT_NEAR(perfect.with_sources, 0.77, 0.03) << "kappa is (a - 1/5) / (4/5), and better sources count more";
  EXPECT_NEAR(perfect.evenness, 1, 1e-12);
  EXPECT_NEAR(perfect.mean_confidence, 0.8, 1e-6);
  EXPECT_FALSE(perfect.confident_sources);
  witnesses.is_confident = {torch::arange(kPictures) < kPictures / 4, Tensor(), Tensor()};
  EXPECT_NEAR(evidence_of(witnesses, {truth(), witnesses.label, confidence}).confident_sources.value(), 0.25, 1e-9);
}

TEST(Bootstrap, GivesTheStandardErrorOfAShare) {
  // A witness of accuracy 0.8 among ten classes agrees on 361 of 500 pictures: A = (q - e) / (0.8 - e).
  const double error = bootstrap_deviation(500, [](const Tensor& rows) {
    return accuracy_from_witness((rows < 361).to(torch::kFloat64).mean().item<double>(), 0.8, 10);
  });
  EXPECT_NEAR(error, 0.025755, 0.0035);
  EXPECT_NEAR(accuracy_from_witness(0.722222, 0.8, 10), 0.9, 1e-6);
  EXPECT_NEAR(interval_half(0.025755, 0.06, 0.01), 0.073450, 1e-5);
  EXPECT_DOUBLE_EQ(interval_half(0.01, 0.01, 0.2), 0.2) << "the spread of the witnesses";
}

TEST(Proportion, HasTheWilsonAndTheExactInterval) {
  const auto expect = [](const Interval& interval, double low, double high) {
    EXPECT_NEAR(interval.low, low, 5e-4);
    EXPECT_NEAR(interval.high, high, 5e-4);
  };
  expect(wilson_interval(46, 50), 0.812, 0.968);
  expect(wilson_interval(92, 100), 0.850, 0.959);
  expect(exact_interval(46, 50), 0.8077, 0.9778);
  expect(exact_interval(0, 10), 0, 0.3085);
  expect(exact_interval(10, 10), 0.6915, 1);
}

TEST(Acceptance, AcceptsTheMostConfidentUpToTheExpectedError) {
  const Tensor confidence = torch::tensor({0.5, 0.99, 0.9, 0.99, 0.95}, torch::kFloat64);
  // The expected errors of the first two, three, .. are 0.01, 0.023, 0.043 and 0.134; the first two are a tie.
  EXPECT_DOUBLE_EQ(check_threshold(confidence, 0.025), 0.95);
  EXPECT_DOUBLE_EQ(check_threshold(confidence, 0), kAcceptNone);
  EXPECT_DOUBLE_EQ(check_threshold(confidence, 0.2), 0.5);
  EXPECT_TENSOR_EQ(below_threshold(confidence, 0.95).to(torch::kInt64), test::indices({1, 0, 1, 0, 0}));
  EXPECT_TRUE(below_threshold(confidence, kAcceptNone).all().item<bool>());
}

TEST(AccuracyEstimate, LeavesOutPicturesForWhichAWitnessAbstains) {
  Witnesses witnesses = independent_witnesses();
  // The first two abstain together, on pictures of all classes.
  const Tensor silent = torch::arange(kPictures) % 3 == 0;
  for (int64_t j = 0; j < 2; ++j) witnesses.label[j].masked_fill_(silent, -1);
  EXPECT_THAT(witness_accuracies(witnesses),
              testing::ElementsAre(DoubleNear(0.9, 0.02), DoubleNear(0.8, 0.02), DoubleNear(0.7, 0.02)));
  const auto estimate = estimate_accuracy(witnesses, labels_of(0.85, 4), 0.05);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->accuracy, 0.85, 0.03);
  EXPECT_THAT(estimate->by_class, Each(DoubleNear(0.85, 0.08)));
}

TEST(AccuracyEstimate, AsksOnlyWitnessesThatKnowAClass) {
  Witnesses witnesses = independent_witnesses();
  witnesses.known = torch::ones({3, kClasses}, torch::kBool);
  for (int64_t j = 0; j < 2; ++j) {
    witnesses.known[j][0] = false;
    witnesses.label[j].masked_fill_(witnesses.label[j] == 0, 1);  // a source takes class 0 for another one
  }
  const auto estimate = estimate_accuracy(witnesses, labels_of(0.85, 4), 0.05);
  ASSERT_TRUE(estimate);
  EXPECT_GT(estimate->by_class[0], 0.7) << "by the third source alone";
}

}  // namespace
}  // namespace tributary

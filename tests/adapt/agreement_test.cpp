#include "tributary/adapt/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(Agreement, CountsEqualLabels) {
  EXPECT_DOUBLE_EQ(agreement(test::indices({0, 1, 2, 2}), test::indices({0, 1, 1, 2})), 0.75);
}

TEST(Agreement, KappaCorrectsForChance) {
  // g = 3/4; class shares (1/2, 1/2) and (1/4, 3/4), so e = 1/2.
  EXPECT_DOUBLE_EQ(cohens_kappa(test::indices({0, 0, 1, 1}), test::indices({0, 1, 1, 1}), 2), 0.5);
  EXPECT_DOUBLE_EQ(cohens_kappa(test::indices({0, 1, 2}), test::indices({0, 1, 2}), 3), 1);
  EXPECT_DOUBLE_EQ(cohens_kappa(test::indices({0, 1, 0, 1}), test::indices({0, 0, 1, 1}), 2), 0);
  EXPECT_DOUBLE_EQ(cohens_kappa(test::indices({1, 1}), test::indices({1, 1}), 3), 0) << "one class says nothing";
}

TEST(Agreement, PairedDifferenceHasAStandardError) {
  Tensor d = torch::zeros({500});
  d.narrow(0, 0, 18).fill_(1);
  d.narrow(0, 18, 6).fill_(-1);
  const PairedDifference difference = paired_difference(d);
  EXPECT_NEAR(difference.mean, 0.024, 1e-9);
  EXPECT_NEAR(difference.standard_error, 0.009739, 1e-6);
}

Tensor agreements(double g12, double g13, double g23) {
  return torch::tensor({1.0, g12, g13, g12, 1.0, g23, g13, g23, 1.0}, torch::kFloat64).view({3, 3});
}

TEST(Agreement, RecoversIndependentAccuracies) {
  // K = 10, a = (0.9, 0.8, 0.7): g_ij = a_i a_j + (1 - a_i)(1 - a_j) / 9.
  const auto g = [](double a, double b) { return a * b + (1 - a) * (1 - b) / 9; };
  EXPECT_NEAR(g(0.9, 0.8), 0.722222, 1e-6);
  EXPECT_THAT(accuracies_from_agreements(agreements(g(0.9, 0.8), g(0.9, 0.7), g(0.8, 0.7)), 10),
              ElementsAre(DoubleNear(0.9, 1e-9), DoubleNear(0.8, 1e-9), DoubleNear(0.7, 1e-9)));
  // Two sources count as equally accurate.
  const Tensor pair = torch::tensor({1.0, g(0.8, 0.8), g(0.8, 0.8), 1.0}, torch::kFloat64).view({2, 2});
  EXPECT_THAT(accuracies_from_agreements(pair, 10), Each(DoubleNear(0.8, 1e-9)));
}

TEST(Agreement, SharedErrorsRaiseTheEstimate) {
  // A tenth of the pictures gets one wrong label from all, the rest has accuracy 0.9: the truth is 0.81.
  const double g = 0.1 + 0.9 * (0.81 + 0.01 / 9);
  EXPECT_THAT(accuracies_from_agreements(agreements(g, g, g), 10), Each(DoubleNear(0.910555, 1e-6)));
}

TEST(Agreement, SourcesThatOnlyGuessGetChance) {
  EXPECT_THAT(accuracies_from_agreements(agreements(0.1, 0.1, 0.1), 10), Each(0.1));
  const std::vector<double> one_guesses = accuracies_from_agreements(agreements(0.65, 0.1, 0.1), 10);
  EXPECT_GT(one_guesses[0], 0.7);
  EXPECT_EQ(one_guesses[2], 0.1);
}

TEST(Agreement, CountsThePairsOfALabelTable) {
  const Tensor labels = torch::tensor({0, 1, 2, 3, 0, 1, 2, 2, 0, 1, 1, 3}, torch::kInt64).view({3, 4});
  const auto expected = accuracies_from_agreements(agreements(0.75, 0.75, 0.5), 4);
  EXPECT_EQ(accuracies_from_agreement(labels, 4), expected);
}

TEST(Agreement, AWitnessTellsTheAccuracy) {
  EXPECT_NEAR(accuracy_from_witness(0.722222, 0.8, 10), 0.9, 1e-5);
  EXPECT_NEAR(accuracy_from_witness(0.722222, 0.75, 10), 0.961538, 1e-5);
  EXPECT_NEAR(accuracy_from_witness(0.722222, 0.85, 10), 0.846667, 1e-5);
  // The standard deviation of the estimate at n = 500 with a fixed.
  const double q = 0.722222, slope = accuracy_from_witness(1, 0.8, 10) - accuracy_from_witness(0, 0.8, 10);
  EXPECT_NEAR(slope * std::sqrt(q * (1 - q) / 500), 0.025755, 1e-5);
}

TEST(Agreement, DisagreementCapsTheMeanAccuracy) {
  EXPECT_NEAR(
      accuracy_cap(test::indices({0, 1, 2, 2, 1, 0, 0, 1, 2, 0}), test::indices({0, 1, 2, 1, 1, 0, 2, 1, 2, 0})), 0.9,
      1e-12);
}

TEST(MutualTrust, IsAgreementBeyondChance) {
  const Tensor labels = test::indices({0, 0, 0, 1, 1, 2, 2, 2, 0, 1});
  EXPECT_DOUBLE_EQ(mutual_trust(at::stack({labels, labels}), 3), 1);
  // Agreement 0.8, by chance 0.5: (0.8 - 0.5) / (1 - 0.5).
  const Tensor half = test::indices({0, 0, 0, 0, 0, 1, 1, 1, 1, 1});
  const Tensor near = test::indices({0, 0, 0, 0, 1, 0, 1, 1, 1, 1});
  EXPECT_NEAR(mutual_trust(at::stack({half, near}), 2), 0.6, 1e-12);
  EXPECT_NEAR(mutual_trust(at::stack({half, near, half}), 2), (0.6 + 1 + 0.6) / 3, 1e-12);
}

TEST(MutualTrust, IsZeroWithoutEvidence) {
  const Tensor one_class = torch::zeros({2, 10}, torch::kInt64);
  EXPECT_EQ(mutual_trust(one_class, 3), 0) << "everybody predicts the same class";
  EXPECT_EQ(mutual_trust(test::indices({0, 1, 2}).view({1, 3}), 3), 0) << "a single source";
  EXPECT_EQ(mutual_trust(test::indices({0, 1, 1, 0}).view({2, 2}), 2), 0) << "less agreement than by chance";
}

TEST(AgreesMore, NeedsMoreKappaAndNoLessAgreement) {
  const Tensor truth = test::indices({0, 0, 0, 1, 1, 1, 2, 2, 2, 2});
  const Tensor other = test::indices({0, 0, 1, 1, 1, 2, 2, 2, 0, 0});
  const Tensor same = at::stack({truth, truth}), mixed = at::stack({truth, other});
  EXPECT_DOUBLE_EQ(mean_agreement(mixed), 0.6);
  EXPECT_TRUE(agrees_more(mixed, same, 3));
  EXPECT_FALSE(agrees_more(same, mixed, 3));
  EXPECT_FALSE(agrees_more(mixed, mixed, 3)) << "kappa must rise";
  // Nine of ten samples of one class: agreement 0.8 with kappa -1/9. Spreading the labels raises kappa alone.
  const Tensor skewed =
      at::stack({test::indices({1, 0, 0, 0, 0, 0, 0, 0, 0, 0}), test::indices({0, 1, 0, 0, 0, 0, 0, 0, 0, 0})});
  EXPECT_DOUBLE_EQ(mean_agreement(skewed), 0.8);
  // Four of ten agree, where 0.34 would by chance.
  const Tensor spread = at::stack({truth, test::indices({0, 1, 2, 1, 0, 2, 2, 2, 0, 1})});
  EXPECT_NEAR(mutual_trust(spread, 3), 0.06 / 0.66, 1e-12);
  EXPECT_FALSE(agrees_more(skewed, spread, 3));
}

TEST(Agreement, VoteIgnoresASourceThatAlwaysPredictsOneClass) {
  // Two sources agree perfectly, so b = 0.98 and a = 0.985 for K = 4; the third has kappa 0 with both.
  const Tensor labels = at::stack(
      {test::indices({0, 1, 2, 3, 0, 1}), test::indices({0, 1, 2, 3, 0, 1}), test::indices({2, 2, 2, 2, 2, 2})});
  EXPECT_TENSOR_NEAR(weights_from_agreement(labels, 4),
                     torch::tensor({std::log(197.0), std::log(197.0), 0.0}).to(torch::kFloat32), 1e-4);
}

TEST(Agreement, AClearGainInKappaOutweighsALossOfAgreement) {
  // Before, both sources mostly predict class 0: agreement 0.8, kappa -0.11. After: agreement 0.7, kappa above 0.5.
  const Tensor before =
      at::stack({test::indices({0, 0, 0, 0, 0, 0, 0, 0, 0, 1}), test::indices({0, 0, 0, 0, 0, 0, 0, 0, 1, 0})});
  const Tensor after =
      at::stack({test::indices({0, 1, 2, 0, 1, 2, 0, 1, 2, 0}), test::indices({0, 1, 2, 0, 1, 2, 0, 0, 1, 1})});
  EXPECT_LT(mean_agreement(after), mean_agreement(before));
  EXPECT_TRUE(agrees_more(before, after, 3));
}

TEST(AgreesMore, ASinglePairNeedsAClearGain) {
  // The second source corrects one of ten labels: kappa rises from 0.56 to 0.69 or so.
  const Tensor truth = test::indices({0, 0, 0, 1, 1, 1, 2, 2, 2, 2});
  const Tensor worse = test::indices({0, 0, 1, 1, 1, 2, 2, 2, 2, 0}),
               better = test::indices({0, 0, 0, 1, 1, 2, 2, 2, 2, 0});
  const Tensor before = at::stack({truth, worse}), after = at::stack({truth, better});
  const double gain = mutual_trust(after, 3) - mutual_trust(before, 3);
  EXPECT_GT(gain, 0.1);
  EXPECT_LT(gain, kClearGain);
  EXPECT_FALSE(agrees_more(before, after, 3));
  EXPECT_TRUE(agrees_more(at::stack({truth, worse, worse}), at::stack({truth, better, better}), 3));
}

TEST(AgreesMore, OnASkewedSetItNeedsAClearGain) {
  const Tensor truth = test::indices({0, 0, 0, 1, 1, 1, 2, 2, 2, 2});
  const Tensor worse = test::indices({0, 0, 1, 1, 1, 2, 2, 2, 2, 0}),
               better = test::indices({0, 0, 0, 1, 1, 2, 2, 2, 2, 0});
  const Tensor before = at::stack({truth, worse, worse}), after = at::stack({truth, better, better});
  EXPECT_LT(mutual_trust(after, 3) - mutual_trust(before, 3), kClearGain);
  EXPECT_TRUE(agrees_more(before, after, 3));
  EXPECT_FALSE(agrees_more(before, after, 3, /*skewed=*/true));
  EXPECT_TRUE(agrees_more(before, at::stack({truth, truth, truth}), 3, /*skewed=*/true));
}

TEST(Agreement, SupportNeedsTwoStandardErrors) {
  // Two equal sources, and one that always says class 0 and has no weight.
  const Tensor good = test::indices({0, 1, 2, 3}).repeat({10}), one = torch::zeros({40}, torch::kInt64);
  const Tensor labels = at::stack({good, good, one});
  EXPECT_TRUE(is_better_supported(good, one, labels, 4));
  EXPECT_FALSE(is_better_supported(one, good, labels, 4));
  EXPECT_FALSE(is_better_supported(good, good, labels, 4));
  // Three of 40 labels are 0.075 with a standard error of 0.042, five are 0.125 with 0.052.
  Tensor other = good.clone();
  for (const int64_t i : {1, 2, 3}) other[i] = 0;
  EXPECT_FALSE(is_better_supported(good, other, labels, 4));
  for (const int64_t i : {5, 6}) other[i] = 0;
  EXPECT_TRUE(is_better_supported(good, other, labels, 4));
}

TEST(Agreement, LooksOnlyAtPicturesThatBothLabel) {
  const Tensor label = test::indices({0, 1, -1, 2, 0, -1}), other = test::indices({0, 2, 1, -1, 0, -1});
  EXPECT_DOUBLE_EQ(agreement(label, other), 2.0 / 3);
  EXPECT_DOUBLE_EQ(cohens_kappa(label, other, 3), cohens_kappa(test::indices({0, 1, 0}), test::indices({0, 2, 0}), 3));
  EXPECT_EQ(agreement(test::indices({-1, 0}), test::indices({0, -1})), 0);
  EXPECT_EQ(cohens_kappa(test::indices({-1, 0}), test::indices({0, -1}), 3), 0);
}

}  // namespace
}  // namespace tributary

#include "tributary/bound/divergence.h"

#include <cmath>
#include <functional>
#include <numbers>
#include <string>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

constexpr int64_t kSamples = 4000;

struct Gaussian {
  Tensor mean, covariance;

  Tensor draw(int64_t count, uint64_t seed) const {
    const Tensor root = at::linalg_cholesky(covariance);
    return test::normals({count, mean.size(0)}, seed).to(torch::kFloat64).matmul(root.t()) + mean;
  }
};

// A Gaussian with correlated coordinates.
Gaussian some_gaussian(int64_t d) {
  const Tensor mixing =
      test::normals({d, d}, 3).to(torch::kFloat64) / std::sqrt(static_cast<double>(d)) + torch::eye(d, torch::kFloat64);
  return {torch::zeros({d}, torch::kFloat64), mixing.matmul(mixing.t())};
}

double truth_of(const Gaussian& p, const Gaussian& q) {
  return gaussian_divergence(p.mean, p.covariance, q.mean, q.covariance);
}

Divergence estimate_of(const Gaussian& p, const Gaussian& q) {
  return divergence_between(p.draw(kSamples, 1), q.draw(kSamples, 2)).value();
}

// E[f(x)] for a standard normal x.
double normal_mean(const std::function<double(double)>& f) {
  constexpr double kStep = 1e-3;
  double sum = 0;
  for (double x = -10; x < 10; x += kStep) sum += f(x) * std::exp(-x * x / 2) * kStep;
  return sum / std::sqrt(2 * std::numbers::pi);
}

// Draws membership flags with probability `chance` of the first coordinate.
Tensor draw_members(const Tensor& features, const std::function<double(double)>& chance, uint64_t seed) {
  const Tensor mark = torch::empty({features.size(0)}, torch::kBool);
  Random random(seed);
  for (int64_t i = 0; i < features.size(0); ++i)
    mark.data_ptr<bool>()[i] = random.chance(chance(features[i][0].item<double>()));
  return mark;
}

TEST(GaussianDivergence, MatchesKnownValues) {
  const auto one = [](double value) { return torch::full({1}, value, torch::kFloat64); };
  const Tensor unit = torch::eye(1, torch::kFloat64);
  EXPECT_NEAR(gaussian_divergence(one(1), unit, one(0), unit), 0.5, 1e-12);
  EXPECT_NEAR(gaussian_divergence(one(0), 4 * unit, one(0), unit), 0.5 * (4 - 1 - std::log(4.0)), 1e-12);
}

class DivergenceOfGaussians : public testing::TestWithParam<int64_t> {};

INSTANTIATE_TEST_SUITE_P(Dimensions, DivergenceOfGaussians, testing::Values(2, 8, 64));

TEST_P(DivergenceOfGaussians, ShiftedMeanIsWithinTenPercent) {
  const Gaussian q = some_gaussian(GetParam());
  Gaussian p = q;
  p.mean = at::linalg_cholesky(q.covariance).sum(1) * std::sqrt(2.0 / static_cast<double>(GetParam()));  // 1 nat
  const double truth = truth_of(p, q);
  EXPECT_NEAR(truth, 1, 1e-9);
  EXPECT_NEAR(estimate_of(p, q).value, truth, 0.1 * truth);
}

TEST_P(DivergenceOfGaussians, LargerVarianceIsWithinTenPercent) {
  const Gaussian q = some_gaussian(GetParam());
  Gaussian p = q;
  p.covariance = q.covariance * (1 + 2 / std::sqrt(static_cast<double>(GetParam())));
  const double truth = truth_of(p, q);
  EXPECT_NEAR(estimate_of(p, q).value, truth, 0.1 * truth);
}

TEST_P(DivergenceOfGaussians, SmallerVarianceInOneDirectionIsWithinTenPercent) {
  const Gaussian q = some_gaussian(GetParam());
  Tensor root = at::linalg_cholesky(q.covariance);
  root.select(1, 0).mul_(0.2);
  const Gaussian p{q.mean, root.matmul(root.t())};
  const double truth = truth_of(p, q);
  EXPECT_NEAR(truth, 0.5 * (0.04 - 1 - std::log(0.04)), 1e-9);
  EXPECT_NEAR(estimate_of(p, q).value, truth, 0.1 * truth);
}

TEST_P(DivergenceOfGaussians, EqualGaussiansAreNearZero) {
  const Gaussian q = some_gaussian(GetParam());
  const Divergence divergence = estimate_of(q, q);
  EXPECT_GE(divergence.value, 0);
  EXPECT_LE(divergence.value, 0.01);
}

// Perturbs all 2,080 entries of a 64-dimensional covariance: the hardest case, because all of them must be estimated.
Gaussian perturb_covariance(const Gaussian& q, double amount) {
  const int64_t d = q.mean.size(0);
  const Tensor noise = test::normals({d, d}, 5).to(torch::kFloat64) / std::sqrt(static_cast<double>(d));
  const Tensor root = at::linalg_cholesky(q.covariance).matmul(at::matrix_exp(amount * (noise + noise.t()) / 2));
  return {q.mean, root.matmul(root.t())};
}

TEST(Divergence, ExtrapolationCorrectsTheShortfallOfFewSamples) {
  const Gaussian q = some_gaussian(64);
  const Gaussian p = perturb_covariance(q, 0.25);
  const double truth = truth_of(p, q);
  const Divergence divergence = estimate_of(p, q);
  EXPECT_LT(divergence.held_out, 0.9 * truth);
  EXPECT_NEAR(divergence.value, truth, 0.1 * truth);
}

TEST(Divergence, MissesASmallChangeOfTheWholeCovariance) {
  // Known limit: 0.1 nats spread over 2,080 entries are below the estimation noise of 4,000 samples.
  const Gaussian q = some_gaussian(64);
  const Gaussian p = perturb_covariance(q, 0.056);
  const double truth = truth_of(p, q);
  EXPECT_NEAR(truth, 0.1, 0.02);
  EXPECT_LT(estimate_of(p, q).value, 0.5 * truth);
}

TEST(Divergence, MissesDifferencesBeyondMeanAndCovariance) {
  // Known limit: two peaks at +-1.6 with deviation 0.6 along one coordinate, against a Gaussian of the same variance.
  constexpr double kPeak = 1.6, kNarrow = 0.6;
  const double wide = std::sqrt(kPeak * kPeak + kNarrow * kNarrow);
  const Tensor q = test::normals({kSamples, 4}, 1);
  const Tensor p = test::normals({kSamples, 4}, 2);
  q.select(1, 0).mul_(wide);
  p.select(1, 0).mul_(kNarrow);
  p.narrow(0, 0, kSamples / 2).select(1, 0).add_(kPeak);
  p.narrow(0, kSamples / 2, kSamples / 2).select(1, 0).sub_(kPeak);
  const auto density = [](double x, double mean, double deviation) {
    return std::exp(-std::pow((x - mean) / deviation, 2) / 2) / deviation;
  };
  const double truth = normal_mean([&](double z) {  // by symmetry the mean over one peak
    const double x = kPeak + kNarrow * z;
    return std::log((density(x, kPeak, kNarrow) + density(x, -kPeak, kNarrow)) / 2 / density(x, 0, wide));
  });
  EXPECT_GT(truth, 0.3);
  EXPECT_LT(divergence_between(p, q)->value, 0.1 * truth);
}

TEST(Divergence, OfDisjointSetsIsTheCap) {
  const Tensor p = test::normals({500, 3}, 1) + 40;
  const Divergence divergence = divergence_between(p, test::normals({600, 3}, 2)).value();
  EXPECT_EQ(divergence.cap, std::log(600.0));
  EXPECT_EQ(divergence.value, divergence.cap);
}

TEST(Divergence, NeedsAMinimumNumberOfSamples) {
  const Tensor few = test::normals({kFewestForDivergence - 1, 3}, 1);
  const Tensor enough = test::normals({kFewestForDivergence, 3}, 2);
  EXPECT_FALSE(divergence_between(few, enough));
  EXPECT_FALSE(divergence_between(enough, few));
  EXPECT_TRUE(divergence_between(enough, enough));
}

TEST(Divergence, RejectsNonFiniteFeatures) {
  const Tensor whole = test::normals({100, 3}, 1);
  const Tensor non_finite = whole.clone();
  non_finite[5][1] = INFINITY;
  EXPECT_FALSE(divergence_between(whole, non_finite));
  EXPECT_FALSE(divergence_of_subset(non_finite, torch::arange(100) < 50));
}

TEST(Divergence, StaysFiniteForDegenerateFeatures) {
  const Tensor p = test::normals({60, 100}, 1), q = test::normals({60, 100}, 2);
  for (const Tensor& set : {p, q}) {
    set.select(1, 7).zero_();
    set.select(1, 8).copy_(set.select(1, 9));
  }
  const Divergence divergence = divergence_between(p, q).value();
  EXPECT_TRUE(std::isfinite(divergence.value));
  EXPECT_LT(divergence.value, 0.2);
}

TEST(SubsetDivergence, OfAHalfSpaceIsNearTheCap) {
  // Membership is a function of the features, so the divergence is ln(n / N).
  const Tensor features = test::normals({kSamples, 8}, 1);
  const Divergence divergence = divergence_of_subset(features, features.select(1, 0) > 0).value();
  EXPECT_NEAR(divergence.cap, std::log(2.0), 0.03);
  EXPECT_LE(divergence.value, divergence.cap);
  EXPECT_GE(divergence.value, 0.9 * divergence.cap);
}

TEST(SubsetDivergence, OfKnownMembershipProbabilityIsWithinTenPercent) {
  const auto chance = [](double x) { return 1 / (1 + std::exp(-1 - 2 * x)); };
  const double share = normal_mean(chance);
  const double truth = normal_mean([&](double x) { return chance(x) * std::log(chance(x)); }) / share - std::log(share);
  for (const int64_t d : {2, 50}) {
    const Tensor features = test::normals({5000, d}, 4);
    const Divergence divergence = divergence_of_subset(features, draw_members(features, chance, 6)).value();
    EXPECT_NEAR(divergence.value, truth, 0.1 * truth) << d;
    EXPECT_NEAR(divergence.cap, -std::log(share), 0.03);
  }
}

TEST(SubsetDivergence, OfRandomMembersIsNearZero) {
  const Tensor features = test::normals({kSamples, 20}, 1);
  EXPECT_LE(divergence_of_subset(features, draw_members(
                                               features, [](double) { return 0.7; }, 2))
                ->value,
            0.005);
}

TEST(SubsetDivergence, OfSamplesNearTheirClassMeanNeedsTheClasses) {
  // Ten clusters in 20 dimensions. The half of all samples nearest to their own centre are confident. That is a
  // function of the features, so the divergence is the cap.
  const int64_t n = 3000, d = 20;
  const Tensor label = torch::arange(n) % 10;
  const Tensor noise = test::normals({n, d}, 1);
  const Tensor features = 4 * test::normals({10, d}, 2).index_select(0, label) + noise;
  const Tensor radius = noise.square().sum(1);
  const Tensor confident = radius < radius.median();
  const double cap = std::log(static_cast<double>(n) / static_cast<double>(confident.sum().item<int64_t>()));
  EXPECT_GT(divergence_of_subset(features, confident, label)->value, 0.85 * cap);
  EXPECT_LT(divergence_of_subset(features, confident)->value, 0.5 * cap);
}

TEST(SubsetDivergence, OfAllSamplesIsZeroAndOfTooFewEmpty) {
  const Tensor features = test::normals({200, 3}, 1);
  const Tensor index = torch::arange(200);
  EXPECT_EQ(divergence_of_subset(features, index >= 0)->value, 0);
  EXPECT_FALSE(divergence_of_subset(features, index < kFewestForDivergence - 1));
  EXPECT_FALSE(divergence_of_subset(features, index >= kFewestForDivergence - 1));
  EXPECT_TRUE(divergence_of_subset(features, index < kFewestForDivergence));
}

TEST(SubsetDivergence, DependsOnTheSeedButNotOnTheOrder) {
  const Tensor features = test::normals({500, 5}, 1);
  const Tensor member = draw_members(
      features, [](double x) { return x > 0 ? 0.9 : 0.4; }, 2);
  const Tensor group = features.select(1, 1).gt(0).to(torch::kInt64);
  const Divergence once = divergence_of_subset(features, member, group, 1).value();
  const Divergence again = divergence_of_subset(features, member, group, 1).value();
  EXPECT_EQ(once.value, again.value);
  EXPECT_EQ(once.error, again.error);

  const Tensor order = torch::tensor(Random(3).permutation(500), torch::kInt64);
  const auto shuffled = [&](const Tensor& tensor) { return tensor.index_select(0, order); };
  EXPECT_EQ(once.value, divergence_of_subset(shuffled(features), shuffled(member), shuffled(group), 1)->value);
  EXPECT_NE(once.value, divergence_of_subset(features, member, group, 2)->value);
}

}  // namespace
}  // namespace tributary

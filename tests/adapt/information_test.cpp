#include "tributary/adapt/information.h"

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

const Tensor kFirst = torch::tensor({0.9, 0.1, 0.1, 0.9}, torch::kFloat64).view({2, 2});
const Tensor kSecond = torch::tensor({0.1, 0.9, 0.9, 0.1}, torch::kFloat64).view({2, 2});

double loss_at(double share) {
  return information_loss(share * kFirst + (1 - share) * kSecond, 0, 0).item<double>();
}

TEST(Information, OfTwoOpposedSourcesIsZeroAtEqualWeights) {
  EXPECT_NEAR(loss_at(0.5), 0, 1e-12);
  EXPECT_NEAR(loss_at(1), -0.368064, 1e-6);
  EXPECT_NEAR(loss_at(0), -0.368064, 1e-6);
  EXPECT_LE(loss_at(0.25) + loss_at(0.75), 2 * loss_at(0.5));
}

TEST(Information, OfCertainAndDiversePredictionsIsMinusLogK) {
  EXPECT_NEAR(information_loss(torch::eye(10)).item<double>(), -std::log(10.0), 2e-4);
}

TEST(Information, AnImpossibleClassAddsZeroWithoutEpsilon) {
  EXPECT_EQ(entropy(torch::tensor({1.0, 0.0}), 0).item<double>(), 0);
}

TEST(InformationWithPrior, MatchesKnownValues) {
  const Tensor p = torch::tensor({.9, .1, .8, .2, .2, .8, .1, .9}, torch::kFloat64).view({4, 2});
  const auto loss = [&](double first) {
    return information_loss_with_prior(p, torch::tensor({first, 1 - first}, torch::kFloat64), 0).item<double>();
  };
  EXPECT_NEAR(loss(0.5), -0.280404 + std::log(2), 1e-6) << "IM + ln K";
  EXPECT_NEAR(loss(0.75), 0.412743 + 0.143841, 1e-6) << "mean entropy + KL((.5, .5) || (.75, .25))";
}

TEST(InformationWithPrior, IsLowestWhereTheMarginalIsThePrior) {
  const Tensor prior = torch::tensor({.8, .2}, torch::kFloat64);
  const auto loss = [&](double share) {  // certain predictions, `share` of them for the first class
    Tensor p = torch::zeros({100, 2}, torch::kFloat64);
    p.slice(0, 0, std::lround(100 * share)).select(1, 0) = 1;
    p.slice(0, std::lround(100 * share), 100).select(1, 1) = 1;
    return information_loss_with_prior(p, prior).item<double>();
  };
  EXPECT_LT(loss(0.8), loss(0.7));
  EXPECT_LT(loss(0.8), loss(0.9));
  EXPECT_LT(loss(0.7), loss(0.5));
}

TEST(WeightedInformation, LeavesOutSamplesOfWeightZero) {
  const Tensor p = test::normals({6, 4}, 1).softmax(-1);
  const Tensor weight = torch::tensor({1.f, 0.f, 1.f, 1.f, 0.f, 1.f}),
               kept = p.index_select(0, test::indices({0, 2, 3, 5}));
  const Tensor prior = torch::tensor({0.1f, 0.2f, 0.3f, 0.4f});
  EXPECT_TENSOR_NEAR(weighted_information_loss(p, weight), information_loss(kept), 1e-6);
  EXPECT_TENSOR_NEAR(weighted_information_loss_with_prior(p, weight, prior), information_loss_with_prior(kept, prior),
                     1e-6);
}

TEST(WeightedInformation, HasNoGradientWithoutSamples) {
  const Tensor z = test::normals({3, 4}, 2).requires_grad_(true);
  const Tensor loss = weighted_information_loss(z.softmax(-1), torch::zeros({3}), kEntropyEpsilon, 0);
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
  EXPECT_EQ(z.grad().abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace tributary

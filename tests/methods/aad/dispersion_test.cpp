#include "tributary/methods/aad/dispersion.h"

#include <cmath>

#include "tests/support/tensors.h"
#include "tributary/methods/nrc/reciprocity.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

Tensor probabilities() {
  return torch::tensor({{.7, .2, .1}, {.1, .8, .1}, {.2, .3, .5}}, torch::kFloat64);
}

Tensor neighbour_scores() {
  return torch::tensor({.6, .3, .1, .8, .1, .1, /**/ .2, .7, .1, 0., 1., 0., /**/ .1, .2, .7, .3, .3, .4},
                       torch::kFloat64)
      .view({3, 2, 3});
}

Tensor all_count(int64_t ranks) {
  return torch::ones({ranks}, torch::kFloat64);
}

TEST(Attraction, IsMinusTheDotProductWithTheNeighboursScores) {
  const Tensor p = probabilities(), s = neighbour_scores();
  const Tensor products = (s * p.unsqueeze(1)).sum(2);
  EXPECT_TENSOR_NEAR(products, torch::tensor({{.49, .59}, {.59, .80}, {.43, .35}}, torch::kFloat64), 1e-12);
  EXPECT_NEAR(attraction(p, s, all_count(2)).item<double>(), -1.083333, 1e-6);
  // The released code's form differs by a constant.
  const Tensor released = neighbour_divergence(s, p.unsqueeze(1)).sum(1).mean();
  EXPECT_NEAR(released.item<double>(), -2.493172, 1e-6);
  EXPECT_NEAR(at::xlogy(s, s).sum(2).sum(1).mean().item<double>(), -1.409838, 1e-6);
}

TEST(Attraction, LeavesOutRanksThatDoNotCount) {
  const Tensor p = probabilities(), s = neighbour_scores();
  EXPECT_NEAR(attraction(p, s, torch::tensor({1., 0.}, torch::kFloat64)).item<double>(), -(.49 + .59 + .43) / 3, 1e-12);
}

TEST(Dispersion, IsTheSumOfProductsWithTheOthersOfTheBatch) {
  const Tensor p = probabilities();
  const Tensor pairs = at::mm(p, p.t());
  EXPECT_NEAR(pairs[0][1].item<double>(), .24, 1e-12);
  EXPECT_NEAR(pairs[0][2].item<double>(), .25, 1e-12);
  EXPECT_NEAR(pairs[1][2].item<double>(), .31, 1e-12);
  EXPECT_NEAR(dispersion(p).item<double>(), 0.533333, 1e-6);
  EXPECT_TENSOR_NEAR(p.sum(0), torch::tensor({1., 1.3, .7}, torch::kFloat64), 1e-12);
  EXPECT_NEAR(p.sum(0).square().sum().item<double>(), 3.18, 1e-12);
  EXPECT_NEAR(p.square().sum().item<double>(), 1.58, 1e-12);
  const double both = attraction(p, neighbour_scores(), all_count(2)).item<double>() + dispersion(p).item<double>();
  EXPECT_NEAR(both, -0.55, 1e-9);
  EXPECT_NEAR(both - 0.5 * dispersion(p).item<double>(), -0.816667, 1e-6);
}

// The gradient of a loss of probabilities on the logits that they come from.
template <typename Loss>
Tensor logit_gradient(const Tensor& p, Loss loss) {
  const Tensor z = p.log().requires_grad_();
  loss(z.softmax(1)).backward();
  return z.grad();
}

TEST(AadGradient, HasTheKnownValuesOnLogits) {
  const Tensor p = probabilities(), s = neighbour_scores();
  const Tensor pull = logit_gradient(p, [&](const Tensor& q) { return attraction(q, s, all_count(2)); });
  const Tensor push = logit_gradient(p, [&](const Tensor& q) { return dispersion(q); });
  const Tensor half = logit_gradient(p, [&](const Tensor& q) { return dispersion(q, /*one_sided=*/true); });
  EXPECT_TENSOR_NEAR(pull[0], torch::tensor({-.074667, .045333, .029333}, torch::kFloat64), 1e-6);
  EXPECT_TENSOR_NEAR(push[0], torch::tensor({-.088667, .081333, .007333}, torch::kFloat64), 1e-6);
  EXPECT_TENSOR_NEAR(pull[0] + push[0], torch::tensor({-.163333, .126667, .036667}, torch::kFloat64), 1e-6);
  EXPECT_TENSOR_NEAR((pull + push).sum(1), torch::zeros({3}, torch::kFloat64), 1e-12);
  EXPECT_TENSOR_NEAR(half, 0.5 * push, 1e-15);
  // That of the products of all pairs, by hand.
  const Tensor pairs =
      logit_gradient(p, [&](const Tensor& q) { return (q.sum(0).square().sum() - q.square().sum()) / 3; });
  EXPECT_TENSOR_NEAR(push, pairs, 1e-12);
}

TEST(AadGradient, OfPartsOfABatchWithItsSumIsThatOfTheBatch) {
  const Tensor p = probabilities(), sum = p.sum(0);
  const Tensor whole = logit_gradient(p, [&](const Tensor& q) { return dispersion(q); });
  const auto in_parts = [&](bool with_sum) {
    return logit_gradient(p, [&](const Tensor& q) {
      const Tensor first = q.narrow(0, 0, 2), second = q.narrow(0, 2, 1);
      return with_sum ? dispersion_share(first, sum, 3) + dispersion_share(second, sum, 3)
                      : dispersion(first) + dispersion(second);
    });
  };
  EXPECT_TENSOR_NEAR(in_parts(true), whole, 1e-12);
  EXPECT_GT(test::distance(in_parts(false), whole), 1e-2);
  EXPECT_NEAR(
      (dispersion_share(p.narrow(0, 0, 2), sum, 3) + dispersion_share(p.narrow(0, 2, 1), sum, 3)).item<double>(),
      dispersion(p).item<double>(), 1e-12);
}

TEST(AadGradient, VanishesAtTheFixedPoints) {
  constexpr int64_t kBatch = 4, kNeighbours = 3, kClasses = 5;
  const Tensor scores = torch::zeros({kBatch, kNeighbours, kClasses}, torch::kFloat64);
  scores.select(2, 1).fill_(1);
  const Tensor z = torch::zeros({kBatch, kClasses}, torch::kFloat64);
  z.select(1, 1).fill_(800);
  z.requires_grad_();
  const Tensor p = z.softmax(1);
  const Tensor pull = attraction(p, scores, all_count(kNeighbours)), push = dispersion(p);
  EXPECT_DOUBLE_EQ(pull.item<double>(), -static_cast<double>(kNeighbours));
  EXPECT_DOUBLE_EQ(push.item<double>(), kBatch - 1.0);
  (pull + push).backward();
  EXPECT_TENSOR_NEAR(z.grad(), torch::zeros({kBatch, kClasses}, torch::kFloat64), 1e-12);

  const Tensor even = torch::zeros({kBatch, kClasses}, torch::kFloat64).requires_grad_();
  const Tensor same = even.softmax(1);
  (attraction(same, torch::full({kBatch, kNeighbours, kClasses}, 0.2, torch::kFloat64), all_count(kNeighbours)) +
   dispersion(same))
      .backward();
  EXPECT_TENSOR_NEAR(even.grad(), torch::zeros({kBatch, kClasses}, torch::kFloat64), 1e-12);
}

TEST(DispersionWeight, FadesWithBeta) {
  constexpr int64_t kSteps = 1000;
  const auto at = [](double done, double beta, double alpha = 1) {
    return dispersion_weight(torch::full({}, done, torch::kFloat64), kSteps, alpha, beta).item<double>();
  };
  for (const double beta : {0., 1., 5.}) EXPECT_DOUBLE_EQ(at(0, beta, 2.5), 2.5);
  for (const double done : {0., 100., 500., 999.}) EXPECT_DOUBLE_EQ(at(done, 0), 1);
  EXPECT_NEAR(at(100, 1), 0.5, 1e-12);
  EXPECT_NEAR(at(500, 1), 0.166667, 1e-6);
  EXPECT_NEAR(at(999, 1), 0.090992, 1e-6);
  EXPECT_NEAR(at(100, 5), 0.03125, 1e-12);
  EXPECT_NEAR(at(500, 5), 1.286e-4, 1e-7);
  EXPECT_NEAR(at(999, 5), 6.238e-6, 1e-9);
  EXPECT_NEAR(decay_factor(kSteps, kSteps), 0.165560, 1e-6);
}

// Balanced predictions of a batch of 64 disperse by 63 / K, whether they are uniform or certain.
TEST(Dispersion, OfBalancedPredictionsShrinksWithTheNumberOfClasses) {
  for (const auto& [classes, expected] : {std::pair(10, 6.30), {12, 5.25}, {31, 2.03}, {65, 0.97}, {345, 0.18}})
    EXPECT_NEAR(dispersion(torch::full({64, classes}, 1.0 / classes, torch::kFloat64)).item<double>(), expected, 5e-3);
}

TEST(AadNeighbours, AreThoseOnTheUnitCircle) {
  const Tensor angle = torch::tensor({0., 10., 25., 90., 100.}, torch::kFloat64) * (M_PI / 180);
  const Tensor bank = at::stack({angle.cos(), angle.sin()}, 1);
  EXPECT_TENSOR_EQ(nearest_rows(bank, torch::arange(5), 2),
                   torch::tensor({{1, 2}, {0, 2}, {1, 0}, {4, 2}, {3, 2}}, torch::kInt64));
}

TEST(AadNeighbours, OfTwinsAreEachOther) {
  const Tensor bank = torch::tensor({{1., 0.}, {0., 1.}, {1., 0.}}, torch::kFloat64);
  const Tensor near = nearest_rows(bank, test::indices({0, 2}), 1);
  EXPECT_TENSOR_EQ(near, torch::tensor({{2}, {0}}, torch::kInt64));
}

TEST(AadNeighbours, ChangeInTheSecondHalf) {
  const auto at = [](double done) { return count_now(torch::full({}, done), 40, 3, 2).item<int64_t>(); };
  EXPECT_EQ(at(20), 3);
  EXPECT_EQ(at(21), 2);
}

}  // namespace
}  // namespace tributary

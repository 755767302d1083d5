#include "tributary/methods/cowa/weight_mixup.h"

#include <cmath>

#include "tests/support/tensors.h"
#include "tributary/methods/shot/centroids.h"

namespace tributary {
namespace {

struct Pair {
  Tensor partner = test::indices({1, 0});
  Tensor ratio = torch::tensor({.7, .4}, torch::kFloat64);
  Tensor label = torch::tensor({{1., 0., 0.}, {0., 0., 1.}}, torch::kFloat64);
  Tensor weight = torch::tensor({.9, .2}, torch::kFloat64);
  Tensor probabilities = torch::tensor({{.6, .1, .3}, {.25, .25, .5}}, torch::kFloat64);
};

TEST(WeightMixup, MixesLabelsAndWeightsAlike) {
  const Pair pair;
  const Tensor target = mix_rows(pair.label, pair.partner, pair.ratio);
  const Tensor weight = mix_rows(pair.weight, pair.partner, pair.ratio);
  EXPECT_TENSOR_NEAR(target, torch::tensor({{.7, 0., .3}, {.6, 0., .4}}, torch::kFloat64), 1e-12);
  EXPECT_TENSOR_NEAR(weight, torch::tensor({.69, .62}, torch::kFloat64), 1e-12);
  EXPECT_NEAR(
      weighted_soft_cross_entropy(pair.probabilities, target, torch::tensor({1., 0.}, torch::kFloat64)).item<double>() *
          2,
      .718768, 5e-6);
  EXPECT_NEAR(
      weighted_soft_cross_entropy(pair.probabilities, target, torch::tensor({0., 1.}, torch::kFloat64)).item<double>() *
          2,
      1.109032, 5e-6);
  const double loss = weighted_soft_cross_entropy(pair.probabilities, target, weight).item<double>();
  EXPECT_NEAR(loss, .591775, 1e-6);
  const Tensor exact = -(weight * (target * pair.probabilities.log()).sum(1)).mean();
  EXPECT_NEAR(exact.item<double>(), .591777, 1e-6);
}

TEST(WeightMixup, IsNotTheSumOfTwoWeightedLosses) {
  const Pair pair;
  const Tensor target = mix_rows(pair.label, pair.partner, pair.ratio);
  const Tensor weight = mix_rows(pair.weight, pair.partner, pair.ratio);
  const Tensor apart = mix_rows(pair.label * pair.weight.unsqueeze(1), pair.partner, pair.ratio);
  const double sum =
      weighted_soft_cross_entropy(pair.probabilities, apart, torch::ones({2}, torch::kFloat64)).item<double>();
  EXPECT_NEAR(sum, .599055, 5e-6);
  EXPECT_GT(std::abs(weighted_soft_cross_entropy(pair.probabilities, target, weight).item<double>() - sum), 5e-3);
}

TEST(WeightMixup, MixesPicturesRowByRow) {
  const Tensor pixels = torch::stack({torch::zeros({3, 2, 2}), torch::ones({3, 2, 2})});
  const Tensor mixed = mix_rows(pixels, test::indices({1, 0}), torch::tensor({.7f, .4f}));
  EXPECT_TENSOR_NEAR(mixed[0], torch::full({3, 2, 2}, .3), 1e-6);
  EXPECT_TENSOR_NEAR(mixed[1], torch::full({3, 2, 2}, .4), 1e-6);
}

TEST(WeightedCrossEntropy, OfOneHotTargetsIsPlainCrossEntropy) {
  const Tensor logits = test::normals({6, 4}, 1).to(torch::kFloat64), labels = test::indices({0, 3, 1, 2, 2, 0});
  const Tensor loss = weighted_soft_cross_entropy(logits.softmax(1), hard_weights(labels, 4).to(torch::kFloat64),
                                                  torch::ones({6}, torch::kFloat64));
  EXPECT_NEAR(loss.item<double>(), at::cross_entropy_loss(logits, labels).item<double>(), 1e-4);
}

TEST(WarmUpFactor, EndsAfterItsSteps) {
  const auto at = [](double done, int64_t steps) { return warm_up_factor(torch::full({}, done), steps).item<float>(); };
  EXPECT_EQ(at(0, 10), 1e-6f);
  EXPECT_EQ(at(9, 10), 1e-6f);
  EXPECT_EQ(at(10, 10), 1);
  EXPECT_EQ(at(0, 0), 1);
}

}  // namespace
}  // namespace tributary

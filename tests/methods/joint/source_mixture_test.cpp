#include "tributary/methods/joint/source_mixture.h"

#include <cmath>

#include "tests/support/tensors.h"
#include "tributary/adapt/information.h"

namespace tributary {
namespace {

const float kLog2 = std::log(2.0F), kLog3 = std::log(3.0F);

Tensor parameter(const std::vector<float>& values) {
  return torch::tensor(values).requires_grad_(true);
}

TEST(SigmoidWeights, MatchKnownValues) {
  // sigma = (0.75, 0.5).
  EXPECT_TENSOR_NEAR(sigmoid_weights(torch::tensor({kLog3, 0.0F})), torch::tensor({0.6F, 0.4F}), 1e-6);
  EXPECT_TENSOR_NEAR(sigmoid_weights(torch::zeros({5})), torch::full({5}, 0.2F), 1e-6);
  EXPECT_TENSOR_NEAR(sigmoid_weights(torch::tensor({30.0F, 31.0F, 29.0F})), torch::full({3}, 1.0F / 3), 1e-6);
  EXPECT_TENSOR_NEAR(sigmoid_weights(torch::tensor({-0.7F})), torch::ones({1}), 1e-6);
}

TEST(SoftmaxWeights, DoNotDependOnTheBias) {
  const std::vector<float> scores = {kLog2, 0, 0};
  const Tensor expected = torch::tensor({0.5F, 0.25F, 0.25F});
  EXPECT_TENSOR_NEAR(softmax_weights(torch::tensor(scores), torch::zeros({1})), expected, 1e-6);
  const Tensor bias = parameter({1.7F});
  const Tensor weights = softmax_weights(torch::tensor(scores), bias);
  EXPECT_TENSOR_NEAR(weights, expected, 1e-6);
  (weights * torch::tensor({3.0F, -1.0F, 0.5F})).sum().backward();
  EXPECT_TENSOR_NEAR(bias.grad(), torch::zeros({1}), 1e-6);
}

TEST(Fused, AddsEqualWidthsAndConcatenatesOthers) {
  const Tensor weights = torch::tensor({0.75F, 0.25F});
  const Tensor narrow = torch::tensor({{4.0F, 8.0F}}), wide = torch::tensor({{4.0F, 0.0F, 12.0F}});
  EXPECT_TENSOR_EQ(fused({narrow, torch::tensor({{8.0F, 4.0F}})}, weights), torch::tensor({{5.0F, 7.0F}}));
  EXPECT_TENSOR_EQ(fused({narrow, wide}, weights), torch::tensor({{3.0F, 6.0F, 1.0F, 0.0F, 3.0F}}));
}

TEST(MixtureLoss, OfOneSourceEqualsShots) {
  const Tensor labels = test::indices({0, 2, 1, 1, 2, 0});
  const Tensor mixture = test::normals({1, 6, 3}, 1).requires_grad_(true);
  const Tensor alone = mixture.detach()[0].clone().requires_grad_(true);
  const Tensor raw = parameter({0.3F});
  mixture_loss(mixture, sigmoid_weights(raw), labels, {0.3, 0}).objective.backward();
  const Tensor shot = 0.3 * at::cross_entropy_loss(alone, labels) + information_loss(alone.softmax(1));
  shot.backward();
  const MixtureLoss again = mixture_loss(mixture, sigmoid_weights(raw), labels, {0.3, 0});
  EXPECT_TENSOR_NEAR(again.objective, shot, 1e-6);
  EXPECT_EQ(again.parts.size(0), 2);
  EXPECT_TENSOR_NEAR(mixture.grad()[0], alone.grad(), 1e-7);
  EXPECT_TENSOR_NEAR(raw.grad(), torch::zeros({1}), 1e-7);
}

TEST(MixtureLoss, OfEqualSourcesHasNoGradientInTheWeights) {
  const Tensor one = test::normals({7, 4}, 2);
  const Tensor logits = at::stack({one, one, one});
  const Tensor raw = parameter({0.9F, -0.4F, 0.1F});
  const Tensor weights = sigmoid_weights(raw);
  EXPECT_TENSOR_NEAR(mixed_logits(logits, weights), one, 1e-6);
  mixture_loss(logits, weights, test::indices({0, 1, 2, 3, 0, 1, 2}), {0.3, 0}).objective.backward();
  EXPECT_TENSOR_NEAR(raw.grad(), torch::zeros({3}), 1e-7);
}

TEST(MixtureLoss, WeightGradientMatchesTheFormula) {
  // dL/dw_j = alpha_j (1 - sigma(w_j)) sum_i <dL/dzbar_i, z_ij - zbar_i>.
  const Tensor labels = test::indices({3, 1, 0, 2, 2});
  const Tensor logits = test::normals({3, 5, 4}, 3);
  const Tensor raw = parameter({0.9F, -0.4F, 0.1F});
  const Tensor weights = sigmoid_weights(raw);
  mixture_loss(logits, weights, labels, {0.3, 0}).objective.backward();

  const Tensor mixed = mixed_logits(logits, weights).detach().requires_grad_(true);
  (0.3 * at::cross_entropy_loss(mixed, labels) + information_loss(mixed.softmax(1))).backward();
  const Tensor better = (mixed.grad() * (logits - mixed.detach())).sum(-1).sum(-1);
  const Tensor expected = weights.detach() * (1 - raw.detach().sigmoid()) * better;
  EXPECT_GT(expected.abs().max().item<double>(), 1e-3);
  EXPECT_TENSOR_NEAR(raw.grad(), expected, 1e-6);
}

TEST(ClassRelationLoss, MatchesKnownValues) {
  // r = (0.8, 0.2) and (0.2, 0.8), 0.831777 each way, 1.663553 / (K m).
  const Tensor weights = torch::tensor({0.5F, 0.5F});
  const Tensor first = torch::tensor({{4 * kLog2, 0.0F}, {5 * kLog2, kLog2}});  // means are 2 (ln 4, 0) up to a shift
  const Tensor logits = at::stack({first, first.flip({1})});
  EXPECT_NEAR(class_relation_loss(logits, weights, test::indices({0, 0})).item<double>(), 0.415888, 1e-5);
}

TEST(ClassRelationLoss, OfEqualSourcesIsZeroWithZeroGradient) {
  const Tensor one = test::normals({6, 4}, 4);
  const Tensor logits = at::stack({one, one, one}).requires_grad_(true);
  const Tensor weights = torch::full({3}, 1.0F / 3).requires_grad_(true);
  const Tensor loss = class_relation_loss(logits, weights, test::indices({0, 1, 1, 3, 0, 0}));
  loss.backward();
  EXPECT_NEAR(loss.item<double>(), 0, 1e-6);
  EXPECT_TENSOR_NEAR(logits.grad(), torch::zeros_like(logits), 1e-6);
  EXPECT_TENSOR_NEAR(weights.grad(), torch::zeros({3}), 1e-6);
}

}  // namespace
}  // namespace tributary

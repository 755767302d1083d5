#include "tributary/methods/bait/casting.h"

#include "tests/support/tensors.h"
#include "tributary/adapt/information.h"

namespace tributary {
namespace {

// Logits whose softmax is (p, 1 - p).
Tensor two_classes(double p) {
  return torch::tensor({{p, 1 - p}}, torch::kFloat64).log();
}

double distance_of(double anchor, double bait, HeadDistance form) {
  return head_distances(two_classes(anchor), two_classes(bait), form).item<double>();
}

TEST(HeadDistances, MatchTheReleasedCode) {
  EXPECT_NEAR(distance_of(1, 1, HeadDistance::kCode), 0.313262, 1e-6) << "the distance of a head to itself is not 0";
  EXPECT_NEAR(distance_of(0.5, 0.5, HeadDistance::kCode), 0, 1e-12);
  EXPECT_NEAR(distance_of(0.6, 0.8, HeadDistance::kCode), 0.071106, 1e-6);
}

TEST(HeadDistances, MatchThePaperAndAreZeroForEqualHeads) {
  EXPECT_NEAR(distance_of(0.6, 0.8, HeadDistance::kPaper), 0.098083, 1e-6);
  for (const double p : {0.5, 0.8, 0.999, 1e-30}) EXPECT_EQ(distance_of(p, p, HeadDistance::kPaper), 0);
}

TEST(HeadDistances, StayFiniteForZeroProbabilities) {
  for (const HeadDistance form : {HeadDistance::kCode, HeadDistance::kPaper}) {
    const Tensor anchor = torch::tensor({{0.f, -300.f, -2.f}});
    const Tensor bait = torch::tensor({{-300.f, 0.f, -2.f}}).requires_grad_();
    const Tensor distance = head_distances(anchor, bait, form);
    distance.sum().backward();
    EXPECT_TRUE(distance.isfinite().all().item<bool>());
    EXPECT_TRUE(bait.grad().isfinite().all().item<bool>());
  }
}

TEST(BiteLoss, IsMutualCrossEntropyMinusMeanEntropies) {
  const Tensor anchor = two_classes(0.6).softmax(1), bait = two_classes(0.8).softmax(1);
  const double mutual = mutual_cross_entropy(anchor, bait).item<double>();
  EXPECT_NEAR(mutual, 1.369534, 1e-6);
  const double balance = entropy(anchor).item<double>() + entropy(bait).item<double>();
  EXPECT_NEAR(bite_loss(anchor, bait).item<double>(), mutual - balance, 1e-12) << "one picture is its own mean";
}

TEST(BiteLoss, PrefersManyClassesToOne) {
  // Both batches are certain and their heads agree; only the class balance differs.
  const Tensor spread = torch::eye(3, torch::kFloat64);
  const Tensor collapsed = spread.index_select(0, test::indices({0, 0, 0}));
  EXPECT_LT(bite_loss(spread, spread).item<double>(), bite_loss(collapsed, collapsed).item<double>() - 2);
}

// Two pictures, so that the signs are + and -.
Tensor cast_gradient(const Tensor& logits, HeadDistance form) {
  const Tensor bait = logits.clone().requires_grad_();
  const Tensor signs = uncertain_signs(entropy(logits.softmax(1)));
  cast_loss(head_distances(logits, bait, form), signs, 10).backward();
  return bait.grad();
}

TEST(CastLoss, OfEqualHeadsHasAGradientOnlyInTheCodesForm) {
  const Tensor logits = test::normals({2, 5}, 3);
  EXPECT_TENSOR_EQ(cast_gradient(logits, HeadDistance::kPaper), torch::zeros({2, 5}));
  EXPECT_GT(cast_gradient(logits, HeadDistance::kCode).abs().amin().item<float>(), 1e-3);
}

TEST(CastLoss, OfUniformOrCertainEqualHeadsHasNoGradient) {
  const Tensor uniform = torch::zeros({2, 4}), certain = 300 * torch::eye(4).narrow(0, 0, 2);
  EXPECT_TENSOR_NEAR(cast_gradient(uniform, HeadDistance::kCode), torch::zeros({2, 4}), 1e-7);
  EXPECT_TENSOR_NEAR(cast_gradient(certain, HeadDistance::kCode), torch::zeros({2, 4}), 1e-7);
}

// The outer factors are detached, so half of the distance is constant for the bait.
TEST(CastLoss, CodesFormHasTheGradientOfTheFirstHalf) {
  const Tensor anchor = test::normals({6, 5}, 1);
  const Tensor bait = test::normals({6, 5}, 2).requires_grad_(), same = bait.detach().clone().requires_grad_();
  head_distances(anchor, bait, HeadDistance::kCode).sum().backward();
  (-0.5 * anchor.softmax(1) * same.softmax(1).log_softmax(1)).sum().backward();
  EXPECT_TENSOR_NEAR(bait.grad(), same.grad(), 1e-7);
}

TEST(UncertainSigns, MarkTheLessCertainHalf) {
  const Tensor signs = uncertain_signs(torch::tensor({0.1f, 0.9f, 0.5f, 0.3f, 0.7f}));
  EXPECT_TENSOR_EQ(signs, torch::tensor({-1.f, 1.f, -1.f, -1.f, 1.f}));
}

TEST(UncertainSigns, BreakTiesByIndex) {
  EXPECT_TENSOR_EQ(uncertain_signs(torch::ones({5})), torch::tensor({1.f, 1.f, -1.f, -1.f, -1.f}));
}

NamedTensors some_classifier() {
  return {{"classifier.weight_v", test::normals({5, 16}, 1)},
          {"classifier.weight_g", torch::ones({5, 1})},
          {"classifier.bias", torch::zeros({5})}};
}

// The quantity that a cast step increases, [b]: the distance, or in the code's form the half with a gradient in the
// bait. The other half also changes with the bait, usually so much in the opposite direction that the sum shrinks. Only
// in the paper's form does the sum grow.
Tensor pursued(const Tensor& anchor, const Tensor& bait, HeadDistance form) {
  if (form == HeadDistance::kPaper) return head_distances(anchor, bait, form);
  const Tensor p = anchor.softmax(1);
  return 0.5 * (p * (p.log() - bait.softmax(1).log_softmax(1))).sum(1);
}

TEST(CastLoss, SeparatesTheHeadsOnUncertainPicturesOnly) {
  for (const HeadDistance form : {HeadDistance::kCode, HeadDistance::kPaper})
    for (const double sign : {1.0, -1.0}) {
      const NamedTensors anchor = some_classifier();
      const BaitClassifier bait(anchor);
      const Tensor features = test::normals({8, 16}, 2);
      const Tensor anchor_logits = BaitClassifier(anchor)(features).detach();
      const auto now = [&] { return pursued(anchor_logits, bait(features), form).mean().item<double>(); };
      for (const NamedTensor& parameter : bait.parameters())
        parameter.value.detach().add_(test::normals(parameter.value.sizes(), 3), 0.1);
      const double before = now();
      cast_loss(head_distances(anchor_logits, bait(features), form), torch::full({8}, sign), 1).backward();
      for (const NamedTensor& parameter : bait.parameters())
        parameter.value.detach().sub_(parameter.value.grad(), 0.01);
      EXPECT_GT(sign * (now() - before), 1e-6);
    }
}

TEST(BaitClassifier, IsAnIndependentCopy) {
  const Tensor features = test::normals({3, 16}, 2);
  const NamedTensors plain = {{"classifier.weight", test::normals({5, 16}, 1)},
                              {"classifier.bias", test::normals({5}, 2)}};
  EXPECT_TENSOR_EQ(BaitClassifier(plain)(features).detach(), at::linear(features, plain[0].value, plain[1].value));
  const NamedTensors original = some_classifier();
  const BaitClassifier bait(original);
  EXPECT_TENSOR_NEAR(bait(features).detach(),
                     at::linear(features, original[0].value / original[0].value.norm(2, {1}, true)), 1e-6);
  for (const NamedTensor& parameter : bait.parameters()) {
    EXPECT_TRUE(parameter.value.requires_grad());
    parameter.value.detach().add_(1);
  }
  EXPECT_TENSOR_EQ(original[0].value, some_classifier()[0].value);
}

}  // namespace
}  // namespace tributary

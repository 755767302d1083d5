#include "tributary/adapt/witness.h"

#include <gtest/gtest.h>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

// Logits of certain sources, one row of labels per source.
Tensor logits_of(const Tensor& labels, int64_t classes) {
  return 10 * at::one_hot(labels, classes).to(torch::kFloat32);
}

Tensor balanced(int64_t n, int64_t classes) {
  return torch::arange(n) % classes;
}

// `label` with a wrong class at every picture i with i % every == offset, different for each offset.
Tensor with_errors(const Tensor& label, int64_t every, int64_t offset, int64_t classes) {
  const Tensor i = torch::arange(label.size(0));
  return torch::where(i % every == offset, (label + 1 + offset % (classes - 1)) % classes, label);
}

TEST(WitnessRule, FiguresHaveKnownValues) {
  // Three sources of four pictures; the others of each are a tie, which goes to the lowest class, or both agree.
  const Tensor labels = torch::tensor({0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1}, torch::kInt64).view({3, 4});
  const WitnessRule rule(logits_of(labels, 2));
  EXPECT_TENSOR_EQ(rule.labels(), labels);
  EXPECT_TENSOR_EQ(rule.others(), torch::tensor({0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0}, torch::kInt64).view({3, 4}));
  const WitnessVerdict verdict = rule.judge(test::indices({0, 1, 1, 0}));
  EXPECT_DOUBLE_EQ(verdict.agreement, (3 + 3 + 2 + 2) / 12.0 + 0.0);
  EXPECT_DOUBLE_EQ(verdict.bar, (3 + 3 + 0 + 2) / 12.0);
}

TEST(WitnessRule, AcceptsTheTruthAndRejectsAWreck) {
  // Four sources, each wrong on another tenth of 400 pictures.
  const Tensor truth = balanced(400, 5);
  std::vector<Tensor> labels;
  for (const int64_t offset : {0, 1, 2, 3}) labels.push_back(with_errors(truth, 10, offset, 5));
  const WitnessRule rule(logits_of(at::stack(labels), 5));
  ASSERT_FALSE(rule.abstains());
  const WitnessVerdict good = rule.judge(truth);
  EXPECT_NEAR(good.agreement, 0.9, 1e-6);
  EXPECT_GE(good.agreement, good.bar);
  EXPECT_FALSE(good.rejected);
  // Half of the labels are lost.
  const WitnessVerdict bad = rule.judge(torch::where(torch::arange(400) < 200, truth, (truth + 1) % 5));
  EXPECT_LT(bad.agreement, 0.6);
  EXPECT_TRUE(bad.rejected);
}

TEST(WitnessRule, NeedsTwoStandardErrorsAndOnePoint) {
  const Tensor truth = balanced(1000, 5);
  const WitnessRule rule(logits_of(at::stack({truth, truth, truth}), 5));
  const auto wrong = [&](int64_t count) {
    return rule.judge(torch::where(torch::arange(1000) < count, (truth + 1) % 5, truth));
  };
  EXPECT_NEAR(wrong(10).bar - wrong(10).agreement, 0.01, 1e-9);
  EXPECT_FALSE(wrong(9).rejected) << "within a point";
  EXPECT_TRUE(wrong(20).rejected);
  // Two of 20 pictures: ten points, and 1.5 standard errors.
  const Tensor few = balanced(20, 5);
  const WitnessRule small(logits_of(at::stack({few, few, few}), 5));
  const WitnessVerdict verdict = small.judge(torch::where(torch::arange(20) < 2, (few + 1) % 5, few));
  EXPECT_NEAR(verdict.bar - verdict.agreement, 0.1, 1e-9);
  EXPECT_NEAR(verdict.standard_error, 0.0671, 1e-4);
  EXPECT_FALSE(verdict.rejected);
}

TEST(WitnessRule, ABadStartDoesNotVetoAGoodRound) {
  // Three independent sources of 40 % accuracy: the truth agrees with each as well as the others do, or better.
  const int64_t n = 1000, classes = 5;
  const Tensor truth = balanced(n, classes);
  std::vector<Tensor> labels;
  Random random(3);
  for (int j = 0; j < 3; ++j) {
    const Tensor label = truth.clone();
    for (int64_t i = 0; i < n; ++i)
      if (!random.chance(0.4)) label[i] = (truth[i].item<int64_t>() + 1 + random.below(classes - 1)) % classes;
    labels.push_back(label);
  }
  const WitnessVerdict verdict = WitnessRule(logits_of(at::stack(labels), classes)).judge(truth);
  EXPECT_GT(verdict.agreement, verdict.bar);
  EXPECT_FALSE(verdict.rejected);
}

TEST(WitnessRule, AbstainsIfSourcesMayShareManyErrors) {
  // Three sources share wrong labels on 40 % of the pictures, and each errs alone on 20 %. The truth falls far below
  // the bar.
  const Tensor truth = balanced(1000, 5);
  const Tensor shared = torch::where(torch::arange(1000) < 400, (truth + 1) % 5, truth);
  std::vector<Tensor> labels;
  for (const int64_t offset : {0, 1, 2}) labels.push_back(with_errors(shared, 5, offset, 5));
  const WitnessRule rule(logits_of(at::stack(labels), 5));
  EXPECT_GT(rule.kappa(), 0.5);
  EXPECT_LT(rule.kappa(), WitnessRule::kLeastKappa);
  EXPECT_LT(rule.judge(truth).agreement, rule.judge(truth).bar - 0.1);
  EXPECT_FALSE(rule.judge(truth).rejected);
}

TEST(WitnessRule, AbstainsIfAgreementIsCheap) {
  // Both sources predict class 0 for almost everything, each with other exceptions.
  Tensor a = torch::zeros({200}, torch::kInt64), b = a.clone();
  a.narrow(0, 0, 10).fill_(1);
  b.narrow(0, 100, 10).fill_(1);
  const WitnessRule rule(logits_of(at::stack({a, b}), 4));
  EXPECT_LT(rule.kappa(), 0.1);
  EXPECT_TRUE(rule.abstains());
  const WitnessVerdict verdict = rule.judge(balanced(200, 4));
  EXPECT_LT(verdict.agreement, verdict.bar - 0.5);
  EXPECT_FALSE(verdict.rejected);
}

TEST(WitnessRule, OneSourceAbstains) {
  const WitnessRule rule(logits_of(balanced(20, 4).unsqueeze(0), 4));
  EXPECT_TRUE(rule.abstains());
  EXPECT_EQ(rule.doubtful_share(), 1);
  EXPECT_FALSE(rule.judge(torch::zeros({20}, torch::kInt64)).rejected);
}

TEST(WitnessRule, TwoSourcesAreEachOthersBar) {
  const Tensor a = balanced(100, 4), b = with_errors(a, 5, 0, 4);
  const WitnessRule rule(logits_of(at::stack({a, b}), 4));
  EXPECT_TRUE(rule.abstains()) << "they may share errors";
  EXPECT_TENSOR_EQ(rule.others(), at::stack({b, a}));
  EXPECT_NEAR(rule.judge(a).bar, 0.8, 1e-9);
  EXPECT_NEAR(rule.judge(a).agreement, 0.9, 1e-9);
  EXPECT_FALSE(rule.judge(b).rejected);
  EXPECT_NEAR(rule.doubtful_share(), 1 - rule.kappa(), 1e-9);
}

TEST(WitnessRule, PermutationsAndResumingChangeNothing) {
  const Tensor logits = test::normals({3, 80, 5}, 1) + 3 * at::one_hot(balanced(80, 5), 5);
  const Tensor label = balanced(80, 5);
  const Tensor pictures = torch::randperm(80), classes = torch::tensor({2, 0, 4, 1, 3}), inverse = classes.argsort();
  const WitnessRule rule(logits);
  const WitnessRule permuted(logits.index_select(1, pictures).index_select(2, classes));
  const WitnessRule swapped(logits.index_select(0, test::indices({2, 0, 1})));
  const WitnessRule resumed(rule.labels(), rule.others(), 5);
  const WitnessVerdict wanted = rule.judge(label);
  for (const auto& [other, same_label] :
       {std::pair(&permuted, inverse.index_select(0, label.index_select(0, pictures))), std::pair(&swapped, label),
        std::pair(&resumed, label)}) {
    const WitnessVerdict found = other->judge(same_label);
    EXPECT_NEAR(found.agreement, wanted.agreement, 1e-12);
    EXPECT_NEAR(found.bar, wanted.bar, 1e-12);
    EXPECT_NEAR(found.standard_error, wanted.standard_error, 1e-12);
    EXPECT_EQ(found.rejected, wanted.rejected);
    EXPECT_NEAR(other->kappa(), rule.kappa(), 1e-12);
    EXPECT_NEAR(other->doubtful_share(), rule.doubtful_share(), 1e-12);
  }
}

TEST(WitnessRule, ASourceIsNoWitnessForClassesThatItDoesNotKnow) {
  // Class 2 is unknown to the last source, whose completed logits favour it in the second picture.
  const Tensor labels = torch::tensor({0, 2, 1, 0, 2, 1, 0, 2, 1}, torch::kInt64).view({3, 3});
  const Tensor known = torch::tensor({1, 1, 1, 1, 1, 1, 1, 1, 0}, torch::kInt64).view({3, 3}) > 0;
  const WitnessRule rule(logits_of(labels, 3), known);
  EXPECT_TENSOR_EQ(rule.labels()[2], test::indices({0, -1, 1}));
  EXPECT_DOUBLE_EQ(rule.judge(test::indices({0, 2, 1})).agreement, 1);
  EXPECT_DOUBLE_EQ(rule.judge(test::indices({0, 1, 1})).agreement, 2.0 / 3) << "the last source does not judge it";
}

}  // namespace
}  // namespace tributary

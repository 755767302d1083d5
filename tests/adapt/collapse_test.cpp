#include "tributary/adapt/collapse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tributary/adapt/witness.h"
#include "tributary/base/random.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Certain predictions: picture i of class labels[i].
Tensor certain(const std::vector<int64_t>& labels, int64_t classes) {
  Tensor probabilities = torch::zeros({static_cast<int64_t>(labels.size()), classes});
  for (size_t i = 0; i < labels.size(); ++i) probabilities[static_cast<int64_t>(i)][labels[i]] = 1;
  return probabilities;
}

TEST(Collapse, ScoresHaveKnownValues) {
  const LabelFreeScores two = label_free_scores(certain({0, 0, 1, 1}, 4), torch::tensor({1.0F, 3.0F}), 2);
  EXPECT_EQ(two.classes, 2);
  EXPECT_NEAR(two.entropy, 0, 1e-3);
  EXPECT_NEAR(two.marginal_entropy, std::log(2), 1e-3);
  EXPECT_NEAR(two.trust, 0.75, 1e-5);
  const LabelFreeScores unsure = label_free_scores(torch::full({3, 4}, 0.25), Tensor(), 5);
  EXPECT_NEAR(unsure.entropy, std::log(4), 1e-3);
  EXPECT_NEAR(unsure.marginal_entropy, std::log(4), 1e-3);
  EXPECT_NEAR(unsure.trust, 0.2, 1e-6);
}

TEST(Collapse, IgnoresClassesWithFewPictures) {
  std::vector<int64_t> labels(1000, 0);
  labels[0] = 1;  // 1 of 1,000, below the threshold of a fortieth (a tenth of a fair share of four classes)
  EXPECT_EQ(label_free_scores(certain(labels, 4), Tensor(), 1).classes, 1);
}

TEST(Collapse, AcceptsAHealthyAdaptation) {
  const LabelFreeScores before{10, 1.5, 2.25, 0.4}, after{9, 0.1, 2.1, 0.7};
  EXPECT_THAT(signs_of_collapse(before, after, 3), IsEmpty());
  EXPECT_THAT(signs_of_collapse({2, 0.6, 0.69, 1}, {2, 0.1, 0.6, 1}, 1), IsEmpty()) << "there is only one source";
}

TEST(Collapse, ReportsEachSign) {
  const LabelFreeScores before{10, 1.5, 2.2, 0.4};
  EXPECT_THAT(signs_of_collapse(before, {5, 0.1, 2.0, 0.5}, 3), ElementsAre(HasSubstr("only 5 of 10 classes")));
  EXPECT_THAT(signs_of_collapse(before, {10, 0.1, 2.0, 0.995}, 3), ElementsAre(HasSubstr("one source")));
  EXPECT_THAT(signs_of_collapse(before, {10, 0.1, 1.6, 0.5}, 3), ElementsAre(HasSubstr("fell from 2.20 to 1.60")));
  EXPECT_THAT(signs_of_collapse({2, 0.6, 0.69, 0.5}, {1, 0.6, 0.55, 0.5}, 2), IsEmpty())
      << "a set may contain one of two classes";
  EXPECT_EQ(signs_of_collapse(before, {1, 0.0, 0.0, 1.0}, 3).size(), 3u);
}

Tensor doubtful_logits(const std::vector<Tensor>& labels, int64_t classes) {
  return 10 * at::one_hot(at::stack(labels), classes).to(torch::kFloat32);
}

// `share` of the labels replaced by other classes, at pictures that differ between seeds.
Tensor noisy(const Tensor& label, double share, int64_t classes, uint64_t seed) {
  const Tensor changed = label.clone();
  Random random(seed);
  for (int64_t i = 0; i < label.size(0); ++i)
    if (random.chance(share)) changed[i] = (label[i].item<int64_t>() + 1 + random.below(classes - 1)) % classes;
  return changed;
}

TEST(Drift, DistanceOfHistograms) {
  const Tensor before = torch::tensor({0, 0, 0, 1}, torch::kInt64);
  EXPECT_DOUBLE_EQ(histogram_distance(before, torch::tensor({0, 1, 0, 0}, torch::kInt64), 3), 0) << "same shares";
  EXPECT_DOUBLE_EQ(histogram_distance(before, torch::tensor({0, 1, 2, 2}, torch::kInt64), 3), 0.5);
  EXPECT_DOUBLE_EQ(histogram_distance(before, torch::tensor({2, 2, 2, 2}, torch::kInt64), 3), 1);
}

TEST(Drift, SeesASkewedTargetSpreadOverAllClasses) {
  // 80 of 104 pictures are of one class, and the sources agree on all of them.
  const Tensor truth = at::cat({torch::zeros({80}, torch::kInt64), 1 + torch::arange(24) % 6});
  const WitnessRule sources(doubtful_logits({truth, truth, truth}, 7));
  EXPECT_NEAR(sources.doubtful_share(), 0, 1e-9);
  const auto sign = sign_of_drift(truth, torch::arange(104) % 7, 7, sources.doubtful_share());
  ASSERT_TRUE(sign);
  EXPECT_THAT(*sign, HasSubstr("moved by 62 %"));
  EXPECT_FALSE(sign_of_drift(truth, truth, 7, 0));
}

TEST(Drift, SeesTwoClassesThatGrowToHalf) {
  // Two of ten classes take half of all predictions: the marginal entropy falls by 8 % only.
  const Tensor truth = torch::arange(1000) % 10;
  Tensor after = truth.clone();
  for (int64_t i = 0, taken = 0; taken < 300; ++i)
    if (truth[i].item<int64_t>() >= 2) after[i] = taken++ % 2;
  const LabelFreeScores first = label_free_scores(at::one_hot(truth, 10).to(torch::kFloat32), Tensor(), 3);
  const LabelFreeScores last = label_free_scores(at::one_hot(after, 10).to(torch::kFloat32), Tensor(), 3);
  EXPECT_NEAR(last.marginal_entropy / first.marginal_entropy, 0.92, 0.02);
  EXPECT_THAT(signs_of_collapse(first, last, 3), IsEmpty());
  const WitnessRule sources(
      doubtful_logits({noisy(truth, 0.1, 10, 1), noisy(truth, 0.1, 10, 2), noisy(truth, 0.1, 10, 3)}, 10));
  EXPECT_LT(sources.doubtful_share(), 0.25);
  EXPECT_TRUE(sign_of_drift(truth, after, 10, sources.doubtful_share()));
}

TEST(Drift, AcceptsABadStartThatGetsBetter) {
  // Three sources of 40 % accuracy that mistake many pictures for class 1; the adaptation finds the truth.
  const Tensor truth = torch::arange(1000) % 10;
  std::vector<Tensor> sources;
  for (uint64_t seed : {1, 2, 3}) {
    const Tensor wrong = noisy(truth, 0.3, 10, seed);
    Random random(seed + 10);
    for (int64_t i = 0; i < 1000; ++i)
      if (random.chance(0.4)) wrong[i] = 1;
    sources.push_back(wrong);
  }
  const WitnessRule rule(doubtful_logits(sources, 10));
  EXPECT_GT(histogram_distance(sources[0], truth, 10), 0.3);
  EXPECT_FALSE(sign_of_drift(sources[0], truth, 10, rule.doubtful_share()));
  EXPECT_FALSE(rule.judge(truth).rejected);
}

TEST(Drift, OneSourceLeavesEverythingInDoubt) {
  const Tensor first = torch::zeros({50}, torch::kInt64);
  const WitnessRule rule(doubtful_logits({first}, 5));
  EXPECT_FALSE(sign_of_drift(first, torch::arange(50) % 5, 5, rule.doubtful_share()));
}

}  // namespace
}  // namespace tributary

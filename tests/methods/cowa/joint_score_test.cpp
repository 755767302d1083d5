#include "tributary/methods/cowa/joint_score.h"

#include "tests/methods/cowa/eight_points.h"
#include "tests/support/tensors.h"

namespace tributary {
namespace {

JointScoreOptions euclidean(ConfidenceScore score = ConfidenceScore::kJmds) {
  JointScoreOptions options;
  options.score = score;
  options.cosine = false;
  return options;
}

JointScore of_eight(const JointScoreOptions& options = euclidean()) {
  return joint_score(test::eight_points(), test::eight_predictions(), options);
}

const Tensor kConfidence =
    torch::tensor({.287364, .238329, .171653, .286361, .410954, .95, .035652, .089685}, torch::kFloat64);

TEST(JointScore, HasTheKnownValues) {
  const JointScore found = of_eight();
  EXPECT_TENSOR_EQ(found.label, test::indices({0, 0, 0, 1, 1, 1, 0, 0}));
  EXPECT_TENSOR_NEAR(
      found.gap,
      torch::tensor({.821692, .766665, .631062, .921178, 1.175089, 2.573474, .229372, .384668}, torch::kFloat64), 2e-6);
  EXPECT_TENSOR_NEAR(
      found.lpg, torch::tensor({.319293, .297911, .245218, .357951, .456616, 1., .089129, .149474}, torch::kFloat64),
      1e-6);
  EXPECT_TENSOR_NEAR(found.mppl, torch::tensor({.9, .8, .7, .8, .9, .95, .4, .6}, torch::kFloat64), 1e-12);
  EXPECT_TENSOR_NEAR(found.confidence, kConfidence, 1e-6);
  EXPECT_NEAR(found.confidence.mean().item<double>(), .308750, 1e-6);
  EXPECT_NEAR(effective_samples(found.confidence).item<double>(), 4.5818, 1e-4);
  EXPECT_EQ(found.live_classes, 2);
}

// Image 6: the model and the first fit say class 1, the last fit says 0.
TEST(JointScore, TakesTheLabelOfTheLastFit) {
  const MixtureRows rows{test::eight_points(), torch::kCPU, false};
  const MixtureFit first = first_fit(rows, test::eight_predictions(), 1e-6);
  EXPECT_EQ(test::eight_predictions()[6].argmax().item<int64_t>(), 1);
  EXPECT_NEAR(first.responsibilities()[6][1].item<double>(), .500874, 1e-6);
  EXPECT_EQ(of_eight().label[6].item<int64_t>(), 0);
}

TEST(JointScore, HasModes) {
  const JointScore found = of_eight();
  EXPECT_TENSOR_EQ(of_eight(euclidean(ConfidenceScore::kLpg)).confidence, found.lpg);
  EXPECT_TENSOR_EQ(of_eight(euclidean(ConfidenceScore::kPpl)).confidence, found.mppl);
  EXPECT_TENSOR_EQ(of_eight(euclidean(ConfidenceScore::kNone)).confidence, torch::ones({8}, torch::kFloat64));
}

TEST(JointScore, IsTheSameForScaledFeatures) {
  const Tensor features = test::normals({40, 6}, 1).to(torch::kFloat64), p = (2 * test::normals({40, 3}, 2)).softmax(1);
  const JointScoreOptions cosine;
  EXPECT_TENSOR_NEAR(joint_score(7 * features, p, cosine).confidence, joint_score(features, p, cosine).confidence,
                     1e-9);
  // Euclidean distances scale with the features, and epsilon does not.
  const Tensor gap = of_eight().gap,
               scaled = joint_score(7 * test::eight_points(), test::eight_predictions(), euclidean()).gap;
  EXPECT_TENSOR_NEAR(scaled, gap, 1e-4);
}

TEST(JointScore, NeverChoosesADeadClass) {
  const Tensor p = at::cat({test::eight_predictions(), torch::full({8, 1}, 1e-30, torch::kFloat64)}, 1);
  const JointScore found = joint_score(test::eight_points(), p, euclidean());
  EXPECT_TENSOR_EQ(found.label, test::indices({0, 0, 0, 1, 1, 1, 0, 0}));
  EXPECT_TENSOR_NEAR(found.confidence, kConfidence, 1e-6);
  EXPECT_TENSOR_EQ(found.responsibilities.select(1, 2), torch::zeros({8}, torch::kFloat64));
  EXPECT_EQ(found.live_classes, 2);
}

TEST(JointScore, TrustsAllClustersAlikeIfThereIsOne) {
  const Tensor p = torch::cat({torch::ones({8, 1}, torch::kFloat64), torch::zeros({8, 1}, torch::kFloat64)}, 1);
  const JointScore found = joint_score(test::eight_points(), p, euclidean());
  EXPECT_EQ(found.live_classes, 1);
  EXPECT_TENSOR_EQ(found.lpg, torch::ones({8}, torch::kFloat64));
  EXPECT_TENSOR_EQ(found.label, torch::zeros({8}, torch::kInt64));
}

TEST(JointScore, LiesBetweenZeroAndOneAndFollowsAPermutation) {
  const Tensor features = test::normals({30, 5}, 3), p = (2 * test::normals({30, 4}, 4)).softmax(1);
  const JointScore found = joint_score(features, p, {});
  EXPECT_GE(found.confidence.min().item<double>(), 0);
  EXPECT_LE(found.confidence.max().item<double>(), 1);
  EXPECT_EQ((found.lpg == 1).sum().item<int64_t>(), 1);
  const Tensor order = torch::tensor(Random(5).permutation(30), torch::kInt64);
  const JointScore permuted = joint_score(features.index_select(0, order), p.index_select(0, order), {});
  EXPECT_TENSOR_EQ(permuted.label, found.label.index_select(0, order));
  EXPECT_TENSOR_NEAR(permuted.confidence, found.confidence.index_select(0, order), 1e-8);
}

TEST(JointScore, AQuantileOfTheGapsLimitsAnOutlier) {
  JointScoreOptions options = euclidean();
  options.gap_quantile = 0.5;
  const JointScore found = of_eight(options);
  EXPECT_EQ((found.lpg == 1).sum().item<int64_t>(), 4);
  EXPECT_LE(found.lpg.max().item<double>(), 1);
  EXPECT_GT(found.lpg[6].item<double>(), of_eight().lpg[6].item<double>());
}

}  // namespace
}  // namespace tributary

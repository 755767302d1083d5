#include "tributary/adapt/class_balance.h"

#include <gmock/gmock.h>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

TEST(ClassBalance, LimitsLargeClassesOnly) {
  // The nine small classes have 33 samples: u = 0.15 (33 + u).
  EXPECT_NEAR(class_limit({100, 4, 4, 4, 4, 4, 4, 4, 3, 2}, 1.5), 99.0 / 17, 1e-12);
  EXPECT_DOUBLE_EQ(class_limit({90, 5, 5}, 1.5), 10);
  EXPECT_DOUBLE_EQ(class_limit({6, 0, 1, 1}, 1.5), 2) << "classes that do not occur do not count";
}

TEST(ClassBalance, LeavesBalancedSetsAlone) {
  EXPECT_DOUBLE_EQ(class_limit({10, 10, 10, 10}, 1.5), 10);
  EXPECT_DOUBLE_EQ(class_limit({50, 30, 20}, 1.5), 50) << "exactly 1.5 times the mean share";
  EXPECT_DOUBLE_EQ(class_limit({5, 0}, 1.5), 5) << "a single class";
  EXPECT_DOUBLE_EQ(class_limit({0, 0}, 1.5), 0);
  EXPECT_TENSOR_NEAR(balanced_sample_weights(test::indices({0, 1, 2, 0}), 3, 1.5), torch::ones({4}), 1e-7);
}

TEST(ClassBalance, WeightsHaveMeanOne) {
  // The limit is 2, so a sample of the class of six weighs a third of the others.
  const Tensor weights = balanced_sample_weights(test::indices({0, 0, 0, 1, 0, 0, 2, 0}), 3, 1.5);
  const float a = 2.0F / 3;
  EXPECT_TENSOR_NEAR(weights, torch::tensor({a, a, a, 2.0F, a, a, 2.0F, a}), 1e-6);
}

TEST(ClassBalance, RecognisesASkewedSet) {
  EXPECT_TRUE(is_skewed(0.26, 10));
  EXPECT_FALSE(is_skewed(0.24, 10));
  EXPECT_FALSE(is_skewed(0.64, 2)) << "of two classes, one is often large";
}

TEST(ClassBalance, RecognisesADominatedSet) {
  const Tensor label = test::indices({1, 1, 1, 0, 1, 2, 1, 1, 1, 1});
  EXPECT_DOUBLE_EQ(largest_share(label, 4), 0.8);
  EXPECT_TRUE(is_dominated(0.43, 0.1, 10));
  EXPECT_FALSE(is_dominated(0.41, 0.1, 10));
  EXPECT_FALSE(is_dominated(0.9, 0.04, 10)) << "sources that agree by chance only";
  EXPECT_FALSE(is_dominated(0.89, 0.1, 2)) << "of two classes, one is often large";
}

}  // namespace
}  // namespace tributary

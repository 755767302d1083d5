#include "tributary/adapt/class_prior.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

TEST(MutualTrust, IsAgreementBeyondChance) {
  const Tensor labels = test::indices({0, 0, 0, 1, 1, 2, 2, 2, 0, 1});
  EXPECT_DOUBLE_EQ(mutual_trust(at::stack({labels, labels}), 3), 1);
  // Agreement 0.8, by chance 0.5: (0.8 - 0.5) / (1 - 0.5).
  const Tensor half = test::indices({0, 0, 0, 0, 0, 1, 1, 1, 1, 1});
  const Tensor near = test::indices({0, 0, 0, 0, 1, 0, 1, 1, 1, 1});
  EXPECT_NEAR(mutual_trust(at::stack({half, near}), 2), 0.6, 1e-12);
  EXPECT_NEAR(mutual_trust(at::stack({half, near, half}), 2), (0.6 + 1 + 0.6) / 3, 1e-12);
}

TEST(MutualTrust, IsZeroWithoutEvidence) {
  const Tensor one_class = torch::zeros({2, 10}, torch::kInt64);
  EXPECT_EQ(mutual_trust(one_class, 3), 0) << "everybody predicts the same class";
  EXPECT_EQ(mutual_trust(test::indices({0, 1, 2}).view({1, 3}), 3), 0) << "a single source";
  EXPECT_EQ(mutual_trust(test::indices({0, 1, 1, 0}).view({2, 2}), 2), 0) << "less agreement than by chance";
}

TEST(EstimatedPrior, MixesSharesWithTheUniformDistribution) {
  const Tensor label = test::indices({0, 0, 0, 1});
  EXPECT_TENSOR_NEAR(estimated_prior(label, 4, 1), torch::tensor({.75, .25, 0., 0.}), 1e-7);
  EXPECT_TENSOR_NEAR(estimated_prior(label, 4, 0), torch::full({4}, .25), 1e-7);
  EXPECT_TENSOR_NEAR(estimated_prior(label, 4, 0.6), torch::tensor({.55, .25, .1, .1}), 1e-7);
}

}  // namespace
}  // namespace tributary

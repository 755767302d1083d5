#include "tributary/adapt/class_prior.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

TEST(EstimatedPrior, MixesSharesWithTheUniformDistribution) {
  const Tensor label = test::indices({0, 0, 0, 1});
  EXPECT_TENSOR_NEAR(estimated_prior(label, 4, 1), torch::tensor({.75, .25, 0., 0.}), 1e-7);
  EXPECT_TENSOR_NEAR(estimated_prior(label, 4, 0), torch::full({4}, .25), 1e-7);
  EXPECT_TENSOR_NEAR(estimated_prior(label, 4, 0.6), torch::tensor({.55, .25, .1, .1}), 1e-7);
}

}  // namespace
}  // namespace tributary

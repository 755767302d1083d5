#include "tributary/adapt/information.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

const Tensor kFirst = torch::tensor({0.9, 0.1, 0.1, 0.9}, torch::kFloat64).view({2, 2});
const Tensor kSecond = torch::tensor({0.1, 0.9, 0.9, 0.1}, torch::kFloat64).view({2, 2});

double loss_at(double share) {
  return information_loss(share * kFirst + (1 - share) * kSecond, 0, 0).item<double>();
}

TEST(Information, OfTwoOpposedSourcesIsZeroAtEqualWeights) {
  EXPECT_NEAR(loss_at(0.5), 0, 1e-12);
  EXPECT_NEAR(loss_at(1), -0.368064, 1e-6);
  EXPECT_NEAR(loss_at(0), -0.368064, 1e-6);
  EXPECT_LE(loss_at(0.25) + loss_at(0.75), 2 * loss_at(0.5));
}

TEST(Information, OfCertainAndDiversePredictionsIsMinusLogK) {
  EXPECT_NEAR(information_loss(torch::eye(10)).item<double>(), -std::log(10.0), 2e-4);
}

TEST(Information, AnImpossibleClassAddsZeroWithoutEpsilon) {
  EXPECT_EQ(entropy(torch::tensor({1.0, 0.0}), 0).item<double>(), 0);
}

}  // namespace
}  // namespace tributary

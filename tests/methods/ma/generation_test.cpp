#include "tributary/methods/ma/generation.h"

#include <cmath>

#include "tests/support/tensors.h"
#include "tributary/device/dropout_stream.h"

namespace tributary {
namespace {

TEST(SquaredDistance, SumsOverAllWeightsWithZeroGradientAtTheOrigin) {
  const Tensor a = test::normals({20, 10}, 1).requires_grad_(), b = test::normals({7}, 2).requires_grad_();
  const std::vector<Tensor> origin = {a.detach().clone(), b.detach().clone()};
  const Tensor start = squared_distance({a, b}, origin);
  EXPECT_EQ(start.item<double>(), 0);
  start.backward();
  EXPECT_TENSOR_EQ(a.grad(), torch::zeros({20, 10}));
  EXPECT_TENSOR_EQ(b.grad(), torch::zeros({7}));
  a.detach().narrow(0, 0, 10).add_(0.1);  // 100 weights
  EXPECT_NEAR(squared_distance({a, b}, origin).item<double>(), 1.0, 1e-5);
}

TEST(RampWeight, IsZeroInTheWarmUpAndThenLinear) {
  // Nine epochs of ten steps: three of warm-up, then a ramp to the end.
  const auto at = [](double done, int64_t length = 60) {
    return ramp_weight(torch::full({}, done), 30, length).item<double>();
  };
  EXPECT_EQ(at(0), 0);
  EXPECT_EQ(at(29), 0);
  EXPECT_NEAR(at(30), 1. / 60, 1e-7);
  EXPECT_NEAR(at(59), 0.5, 1e-7) << "after six epochs";
  EXPECT_EQ(at(89), 1);
  EXPECT_NEAR(at(44, 30), 0.5, 1e-7);
  EXPECT_EQ(at(60, 30), 1);
  EXPECT_EQ(at(29, 0), 0);
  EXPECT_EQ(at(30, 0), 1) << "without a ramp";
}

TEST(AdversarialLosses, MatchKnownValuesForUninformativeLogits) {
  const Tensor zero = torch::zeros({5, 1});
  EXPECT_NEAR(discriminator_loss(zero, zero).item<double>(), 1.386294, 1e-6);
  EXPECT_NEAR(generator_loss(zero, /*saturating=*/false).item<double>(), 0.693147, 1e-6);
  EXPECT_NEAR(generator_loss(zero, /*saturating=*/true).item<double>(), -0.693147, 1e-6);
}

TEST(AdversarialLosses, HaveTheSameSignButDifferentGradients) {
  const auto slope = [](bool saturating) {
    const Tensor a = torch::full({1, 1}, -4.0).requires_grad_();
    generator_loss(a, saturating).backward();
    return a.grad().item<double>();
  };
  const double sigma = 1 / (1 + std::exp(4.0));
  EXPECT_NEAR(slope(false), sigma - 1, 1e-6);
  EXPECT_NEAR(slope(true), -sigma, 1e-6);
}

TEST(DrawnClasses, AreUniformAndInRange) {
  const Tensor normals = DropoutStream(Random(1), torch::kCPU).normal({20000});
  const Tensor labels = classes_from_normals(normals, 10);
  EXPECT_TENSOR_NEAR(labels.bincount({}, 10).to(torch::kFloat32), torch::full({10}, 2000.), 200);  // 4.7 deviations
  EXPECT_TENSOR_EQ(classes_from_normals(torch::tensor({-40.0, -1e-3, 1e-3, 40.0}), 4), test::indices({0, 1, 2, 3}));
}

}  // namespace
}  // namespace tributary

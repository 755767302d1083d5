#include "tributary/methods/cowa/mixture_fit.h"

#include <cmath>

#include "tests/methods/cowa/eight_points.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

constexpr double kEpsilon = 1e-6;

MixtureRows rows() {
  return {test::eight_points(), torch::kCPU, /*normalised=*/false};
}

TEST(FirstFit, HasTheKnownMoments) {
  const MixtureFit fit = first_fit(rows(), test::eight_predictions(), kEpsilon);
  EXPECT_TENSOR_NEAR(fit.mass, torch::tensor({3.75, 4.25}, torch::kFloat64), 1e-12);
  EXPECT_TENSOR_NEAR(fit.means, torch::tensor({{.946667, .92}, {2.929412, 2.952941}}, torch::kFloat64), 1e-6);
  EXPECT_TENSOR_NEAR(
      fit.responsibilities().select(1, 0),
      torch::tensor({.710307, .672638, .627544, .298024, .261810, .158031, .499126, .541385}, torch::kFloat64), 1e-6);
  EXPECT_EQ(fit.jitter, kEpsilon);
  const Tensor uniform = torch::ones({8}, torch::kFloat64);
  const Tensor sigma = weighted_covariance(rows(), uniform, fit.means[0]) + kEpsilon * torch::eye(2, torch::kFloat64);
  EXPECT_TENSOR_NEAR(sigma, torch::tensor({{4.109512, 3.825100}, {3.825100, 4.103901}}, torch::kFloat64), 1e-6);
}

TEST(FirstFit, EqualsAFactorisationPerClass) {
  const MixtureFit fit = first_fit(rows(), test::eight_predictions(), kEpsilon);
  const Tensor uniform = torch::ones({8}, torch::kFloat64), centre = torch::tensor({2., 2.}, torch::kFloat64);
  EXPECT_TENSOR_NEAR(test::eight_points().mean(0), centre, 1e-12);
  const Tensor total = weighted_covariance(rows(), uniform, centre);
  EXPECT_TENSOR_NEAR(total, torch::tensor({{3., 2.6875}, {2.6875, 2.9375}}, torch::kFloat64), 1e-12);
  const Tensor d = centre - fit.means[0];
  EXPECT_TENSOR_NEAR(total + at::outer(d, d),
                     torch::tensor({{4.109511, 3.825100}, {3.825100, 4.103900}}, torch::kFloat64), 1e-6);

  std::vector<Tensor> densities;
  for (int64_t k = 0; k < 2; ++k) {
    const Tensor covariance = weighted_covariance(rows(), uniform, fit.means[k]);
    densities.push_back(log_gaussian(rows(), fit.means[k], factorise(covariance, kEpsilon).lower) + fit.mass[k].log());
  }
  EXPECT_TENSOR_NEAR(at::stack(densities, 1).softmax(1), fit.responsibilities(), 1e-10);
}

TEST(LogGaussian, IsTheDensityThatOneCanReckonByHand) {
  const MixtureRows point{torch::tensor({{1., 2.}}, torch::kFloat64), torch::kCPU, false};
  // Variances 4 and 1, so that the squared distance of (1, 2) from 0 is 1/4 + 4.
  const Tensor lower = torch::tensor({{2., 0.}, {0., 1.}}, torch::kFloat64);
  EXPECT_NEAR(log_gaussian(point, torch::zeros({2}, torch::kFloat64), lower).item<double>(),
              -std::log(2 * M_PI) - std::log(2.) - 0.5 * 4.25, 1e-12);
}

TEST(Refit, HasTheKnownMoments) {
  const MixtureFit first = first_fit(rows(), test::eight_predictions(), kEpsilon);
  const MixtureFit fit = refit(rows(), first.responsibilities(), kEpsilon);
  EXPECT_TENSOR_NEAR(fit.mass, torch::tensor({3.768864, 4.231136}, torch::kFloat64), 1e-6);
  EXPECT_TENSOR_NEAR(fit.means, torch::tensor({{1.321341, 1.305374}, {2.604512, 2.618735}}, torch::kFloat64), 1e-6);
  EXPECT_TENSOR_NEAR(fit.responsibilities().sum(1), torch::ones({8}, torch::kFloat64), 1e-12);
}

TEST(Refit, WorksOnAClassWithFewerPicturesThanDimensions) {
  constexpr int64_t kWidth = 256;
  const Tensor features = torch::cat({test::normals({3, kWidth}, 1) + 2, test::normals({40, kWidth}, 2)});
  const Tensor labels = torch::cat({torch::zeros({3}, torch::kInt64), torch::ones({40}, torch::kInt64)});
  const MixtureRows points{features, torch::kCPU, /*normalised=*/true};
  const Tensor p = 0.9 * torch::one_hot(labels, 2).to(torch::kFloat64) + 0.05;
  const MixtureFit first = first_fit(points, p, kEpsilon);
  const MixtureFit fit = refit(points, first.responsibilities(), kEpsilon);
  EXPECT_TRUE(first.log_density.isfinite().all().item<bool>());
  EXPECT_TRUE(fit.log_density.isfinite().all().item<bool>());
  EXPECT_GE(fit.jitter, kEpsilon);
}

TEST(Factorise, GrowsTheJitterUntilItSucceeds) {
  // A negative eigenvalue of -3e-4, as rounding may leave it.
  const Tensor covariance = torch::tensor({{1., 0.}, {0., -3e-4}}, torch::kFloat64);
  const CovarianceFactor found = factorise(covariance, kEpsilon);
  EXPECT_NEAR(found.jitter, 1e-3, 1e-12);
  EXPECT_TENSOR_NEAR(at::mm(found.lower, found.lower.t()), covariance + 1e-3 * torch::eye(2, torch::kFloat64), 1e-12);
  EXPECT_THROW(factorise(-torch::eye(2, torch::kFloat64), kEpsilon), WorkError);
}

TEST(FirstFit, RefusesValuesThatAreNotFinite) {
  Tensor features = test::eight_points().clone();
  features[3][1] = NAN;
  EXPECT_THROW(first_fit({features, torch::kCPU, false}, test::eight_predictions(), kEpsilon), WorkError);
  EXPECT_THROW(first_fit(rows(), test::eight_predictions() * NAN, kEpsilon), WorkError);
}

}  // namespace
}  // namespace tributary

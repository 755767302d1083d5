#include "tributary/adapt/ranking_scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

Tensor rows(std::vector<double> values, int64_t classes) {
  return torch::tensor(values, torch::kFloat64).view({-1, classes});
}

// n certain predictions, spread evenly over `used` of K classes.
Tensor certain(int64_t n, int64_t used, int64_t classes) {
  return at::one_hot(torch::arange(n) % used, classes).to(torch::kFloat64);
}

TEST(RankingScores, AgreementWithTheMeanOfCandidates) {
  const Tensor a = rows({.8, .1, .1, .2, .7, .1, .3, .3, .4, .6, .3, .1}, 3);
  const Tensor b = rows({.6, .3, .1, .3, .6, .1, .1, .7, .2, .2, .7, .1}, 3);
  const Tensor c = rows({.15, .75, .1, .1, .8, .1, .1, .6, .3, .5, .4, .1}, 3);
  const Tensor mean = (a + b + c) / 3;
  EXPECT_TENSOR_EQ(mean.argmax(-1), test::indices({0, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(agreement_with_mean(a, mean), 0.5);
  EXPECT_DOUBLE_EQ(agreement_with_mean(b, mean), 1);
  EXPECT_DOUBLE_EQ(agreement_with_mean(c, mean), 0.5);
  // Against the mean of the other candidates.
  EXPECT_DOUBLE_EQ(agreement_with_mean(a, b + c), 0.25);
  EXPECT_DOUBLE_EQ(agreement_with_mean(b, a + c), 0.75);
  EXPECT_DOUBLE_EQ(agreement_with_mean(c, a + b), 0.5);
}

TEST(RankingScores, NeighbourhoodDensity) {
  const Tensor p = rows({1, 0, .8, .6, 0, 1, .6, .8}, 2);
  EXPECT_NEAR(neighbourhood_density(p), 0.130584, 1e-6);
  EXPECT_NEAR(neighbourhood_density(p, {0.05, 1e-5}), 0.130559, 1e-6);
  EXPECT_NEAR(neighbourhood_density(rows({.5, .5, .5, .5, .5, .5, .5, .5}, 2)), std::log(3), 1e-9);
  EXPECT_NEAR(neighbourhood_density(p, {0.05, 0, 3}), neighbourhood_density(p), 1e-12) << "blocks change nothing";
  // It prefers fewer clusters: ten, two, one.
  EXPECT_NEAR(neighbourhood_density(certain(1000, 10, 10), {0.05, 1e-5}), 4.594, 1e-3);
  EXPECT_NEAR(neighbourhood_density(certain(1000, 2, 10), {0.05, 1e-5}), 6.208, 1e-3);
  EXPECT_NEAR(neighbourhood_density(certain(1000, 1, 10), {0.05, 1e-5}), 6.897, 1e-3);
}

TEST(RankingScores, NeighbourhoodSampleIsFixed) {
  EXPECT_TENSOR_EQ(neighbourhood_sample(5), torch::arange(5));
  const Tensor sample = neighbourhood_sample(3000);
  EXPECT_EQ(sample.size(0), 2000);
  EXPECT_TENSOR_EQ(sample, neighbourhood_sample(3000));
  EXPECT_TRUE((sample.narrow(0, 1, 1999) > sample.narrow(0, 0, 1999)).all().item<bool>());
}

TEST(RankingScores, MutualInformation) {
  EXPECT_NEAR(mutual_information(rows({.9, .1, .8, .2, .2, .8, .1, .9}, 2)), 0.280404, 1e-6);
  EXPECT_NEAR(mutual_information(rows({.9, .1, .9, .1, .9, .1, .2, .8}, 2)), 0.219256, 1e-6);
  EXPECT_NEAR(mutual_information(certain(20, 10, 10)), 2.302585, 1e-6);
  EXPECT_NEAR(mutual_information(certain(20, 1, 10)), 0, 1e-12);
}

TEST(RankingScores, ClassCorrelation) {
  EXPECT_NEAR(class_correlation(rows({.9, .1, .8, .2, .2, .8, .1, .9}, 2)), 0.948683, 1e-6);
  EXPECT_NEAR(class_correlation(rows({.9, .1, .9, .1, .9, .1, .2, .8}, 2)), 0.844062, 1e-6);
  EXPECT_NEAR(class_correlation(rows({.5, .5, .5, .5}, 2)), 0.707107, 1e-6);
  EXPECT_NEAR(class_correlation(certain(4, 1, 2)), 0.707107, 1e-6);
  EXPECT_NEAR(class_correlation(certain(4, 2, 2)), 1, 1e-12);
  for (const auto& [pictures, classes] : {std::pair<int64_t, int64_t>{7, 30}, {1500, 1100}, {3, 1500}}) {
    const Tensor p = test::normals({pictures, classes}, 5).to(torch::kFloat64).softmax(-1);
    const Tensor c = p.t().matmul(p);
    const double expected = (c.trace() / c.norm()).item<double>() / std::sqrt(static_cast<double>(classes));
    EXPECT_NEAR(class_correlation(p), expected, 1e-12) << pictures << " x " << classes;
  }
  // Not the 13 GB of a matrix of all pairs of classes.
  EXPECT_NEAR(class_correlation(certain(4, 4, 40'000)), 0.01, 1e-12);
}

TEST(RankingScores, Mano) {
  const Tensor z = rows({2, 0, -1, .5, .5, 0, -1, 3, 0}, 3);
  EXPECT_NEAR(mano_uncertainty(z), 1.786806, 1e-6);
  EXPECT_EQ(mano_norm(mano_uncertainty(z)), ManoNorm::kTaylor);
  EXPECT_NEAR(mano_score(z, ManoNorm::kTaylor), 0.565232, 1e-6);
  EXPECT_NEAR(mano_score(z, ManoNorm::kSoftmax), 0.619045, 1e-6);
  EXPECT_NEAR(mano_score(z + 1, ManoNorm::kTaylor), 0.524685, 1e-6) << "not invariant to a shift";
  const Tensor sure = rows({20, 0, 0}, 3);
  EXPECT_NEAR(mano_uncertainty(sure), 13.33, 0.01);
  EXPECT_EQ(mano_norm(mano_uncertainty(sure)), ManoNorm::kSoftmax);
}

TEST(RankingScores, PermutationsChangeNothing) {
  const Tensor z = test::normals({50, 6}, 3), p = z.softmax(-1);
  const Tensor pictures = torch::randperm(50), classes = torch::randperm(6);
  const auto permuted = [&](const Tensor& t) { return t.index_select(0, pictures).index_select(1, classes); };
  const Tensor mean = test::normals({50, 6}, 4).softmax(-1);
  EXPECT_DOUBLE_EQ(agreement_with_mean(permuted(p), permuted(mean)), agreement_with_mean(p, mean));
  EXPECT_NEAR(mutual_information(permuted(p)), mutual_information(p), 1e-9);
  EXPECT_NEAR(neighbourhood_density(permuted(p)), neighbourhood_density(p), 1e-9);
  EXPECT_NEAR(class_correlation(permuted(p)), class_correlation(p), 1e-9);
  for (const ManoNorm norm : {ManoNorm::kSoftmax, ManoNorm::kTaylor})
    EXPECT_NEAR(mano_score(permuted(z), norm), mano_score(z, norm), 1e-9);
}

}  // namespace
}  // namespace tributary

#include "tributary/methods/shot/centroids.h"

#include "tests/support/tensors.h"
#include "tributary/adapt/information.h"

namespace tributary {
namespace {

TEST(Information, IsExtremeForUniformAndBalancedPredictions) {
  const Tensor uniform = torch::full({10, 10}, 0.1, torch::kFloat64), balanced = torch::eye(10, torch::kFloat64);
  EXPECT_TENSOR_NEAR(entropy(uniform), torch::full({10}, 2.302485), 1e-6);
  EXPECT_NEAR(entropy(uniform.mean(0)).item<double>(), 2.302485, 1e-6);
  EXPECT_NEAR(information_loss(uniform).item<double>(), 0, 1e-12);
  EXPECT_NEAR(information_loss(balanced).item<double>(), -2.302495, 1e-6);
  EXPECT_NEAR(information_loss(balanced.narrow(0, 3, 1).expand({10, 10})).item<double>(), 0, 1e-12);
}

// The outer samples pull the centroids apart.
TEST(CentroidLabels, FollowTheClustersOfTheFeatures) {
  const Tensor features = torch::tensor({-2.0f, -1.8f, 1.8f, 2.0f}).view({4, 1});
  Tensor p = torch::full({4, 2}, 0.5);
  p[0] = torch::tensor({0.9f, 0.1f});
  p[3] = torch::tensor({0.1f, 0.9f});
  EXPECT_TENSOR_EQ(centroid_labels(with_one_normalised(features), p), test::indices({0, 0, 1, 1}));
}

TEST(CentroidLabels, NeverUseAClassWithoutProbability) {
  const Tensor rows = with_one_normalised(test::normals({50, 4}, 1));
  Tensor p = test::normals({50, 3}, 2).softmax(1);
  p.select(1, 2).fill_(0);
  const Tensor labels = centroid_labels(rows, p);
  EXPECT_EQ((labels == 2).sum().item<int64_t>(), 0);
  EXPECT_TRUE(((labels == 0) | (labels == 1)).all().item<bool>());
}

// The class has a centroid, which is nearest to the middle picture, but is never predicted.
TEST(CentroidLabels, NeverUseAClassThatIsNeverPredicted) {
  const Tensor rows = with_one_normalised(torch::tensor({-2.0f, 0.0f, 2.0f}).view({3, 1}));
  const Tensor p = torch::tensor({0.8f, 0.1f, 0.1f, 0.42f, 0.18f, 0.4f, 0.1f, 0.8f, 0.1f}).view({3, 3});
  const Tensor distances = cosine_distances(rows, centroids(rows, p));
  ASSERT_EQ(distances[1].argmin().item<int64_t>(), 2);
  EXPECT_TENSOR_EQ(centroid_labels(rows, p), test::indices({0, 0, 1}));
  // In the second pass it has no centroid at all.
  const Tensor later = cosine_distances(rows, centroids(rows, hard_weights(test::indices({0, 0, 1}), 3)));
  EXPECT_FALSE(later.isnan().any().item<bool>());
}

// With the appended one, the norm of the features matters.
TEST(CentroidLabels, RowsAreUnitAndDependOnTheFeatureScale) {
  const Tensor rows = with_one_normalised(torch::tensor({1.0f, 0.0f, 2.0f, 0.0f}).view({2, 2}));
  EXPECT_TENSOR_NEAR(rows.norm(2, {1}), torch::ones({2}), 1e-6);
  EXPECT_TENSOR_NEAR(rows[0], torch::tensor({0.7071f, 0.0f, 0.7071f}), 1e-4);
  EXPECT_TENSOR_NEAR(rows[1], torch::tensor({0.8944f, 0.0f, 0.4472f}), 1e-4);
}

TEST(Centroids, AreWeightedMeansAndEmptyOnesAreAtInfinity) {
  const Tensor rows = torch::tensor({1.0f, 0.0f, 0.0f, 1.0f}).view({2, 2});
  const Tensor weights = torch::tensor({0.5f, 0.0f, 0.5f, 0.0f}).view({2, 2});
  const Tensor found = centroids(rows, weights);
  EXPECT_TENSOR_NEAR(found[0], torch::tensor({0.5f, 0.5f}), 1e-6);
  EXPECT_TENSOR_NEAR(found[1], torch::zeros({2}), 1e-6);
  const Tensor distances = cosine_distances(rows, found);
  EXPECT_NEAR(distances[0][0].item<double>(), 1 - std::sqrt(0.5), 1e-6);
  EXPECT_TRUE(std::isinf(distances[0][1].item<double>()));
}

}  // namespace
}  // namespace tributary

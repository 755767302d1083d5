#include "tributary/methods/decision/source_centroids.h"

#include "tests/support/tensors.h"
#include "tributary/methods/shot/centroids.h"

namespace tributary {
namespace {

TEST(SourceCentroids, EqualThoseOfShot) {
  // The same centroids, but the last assignment is Euclidean.
  const Tensor middles = 3 * test::normals({4, 6}, 1);
  const Tensor truth = torch::arange(60) % 4;
  const Tensor rows = with_one_normalised(middles.index_select(0, truth) + test::normals({60, 6}, 2));
  const Tensor probabilities = (2 * hard_weights(truth, 4) + test::normals({60, 4}, 3)).softmax(1);
  const Tensor own = source_centroids(rows, probabilities, EmptyCentroid::kSoft);
  EXPECT_TENSOR_EQ(own, source_centroids(rows, probabilities, EmptyCentroid::kZero)) << "no class is empty";
  EXPECT_TENSOR_EQ(cosine_distances(rows, own).argmin(1), centroid_labels(rows, probabilities));
}

TEST(NearestCentroid, EqualsCosineDistanceForEqualLengths) {
  const Tensor rows = test::normals({50, 5}, 4);
  const Tensor centroids = test::normals({7, 5}, 5);
  const Tensor equal = centroids / centroids.norm(2, {1}, true);
  EXPECT_TENSOR_EQ(nearest_centroid(rows, equal), cosine_distances(rows, equal).argmin(1));
}

TEST(NearestCentroid, IsZeroForAnEmptyClassInTheReleasedCode) {
  // The zero centroid is at a distance of 0.6, the real one at 1.4.
  const Tensor label = nearest_centroid(torch::tensor({{0.6F, 0.0F}}), torch::tensor({{-0.8F, 0.0F}, {0.0F, 0.0F}}));
  EXPECT_TENSOR_EQ(label, test::indices({1}));
}

TEST(SourceCentroids, OfAnEmptyClassAreWeightedByPredictions) {
  // The third class has a low probability everywhere and is never the nearest.
  const Tensor rows = torch::tensor({{1.0F, 0.0F}, {1.0F, 0.0F}, {0.0F, 1.0F}, {0.0F, 1.0F}});
  const Tensor probabilities =
      torch::tensor({{0.8F, 0.1F, 0.1F}, {0.8F, 0.1F, 0.1F}, {0.1F, 0.8F, 0.1F}, {0.1F, 0.8F, 0.1F}});
  const Tensor kept = source_centroids(rows, probabilities, EmptyCentroid::kSoft);
  EXPECT_TENSOR_NEAR(kept, torch::tensor({{1.0F, 0.0F}, {0.0F, 1.0F}, {0.5F, 0.5F}}), 1e-6);
  const Tensor zero = source_centroids(rows, probabilities, EmptyCentroid::kZero);
  EXPECT_TENSOR_NEAR(zero, torch::tensor({{1.0F, 0.0F}, {0.0F, 1.0F}, {0.0F, 0.0F}}), 1e-6);
  EXPECT_TENSOR_EQ(nearest_centroid(rows, kept), test::indices({0, 0, 1, 1}));
}

TEST(SourceCentroids, OfAClassWithoutProbabilityAreFinite) {
  const Tensor rows = with_one_normalised(test::normals({6, 3}, 6));
  Tensor probabilities = test::normals({6, 4}, 7).softmax(1);
  probabilities.select(1, 2).zero_();
  for (const EmptyCentroid empty : {EmptyCentroid::kSoft, EmptyCentroid::kZero})
    EXPECT_TRUE(source_centroids(rows, probabilities, empty).isfinite().all().item<bool>());
}

}  // namespace
}  // namespace tributary

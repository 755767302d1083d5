#include "tributary/methods/caida/anchors.h"

#include <cmath>

#include "tests/support/tensors.h"
#include "tributary/methods/joint/source_mixture.h"
#include "tributary/methods/shot/centroids.h"

namespace tributary {
namespace {

Tensor unit_vectors(const std::vector<double>& degrees) {
  Tensor rows = torch::empty({static_cast<int64_t>(degrees.size()), 2});
  for (size_t i = 0; i < degrees.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    rows[row][0] = std::cos(degrees[i] * M_PI / 180);
    rows[row][1] = std::sin(degrees[i] * M_PI / 180);
  }
  return rows;
}

// Four clusters with mostly right predictions.
struct Groups {
  Tensor truth = torch::arange(80) % 4;
  Tensor rows = with_one_normalised((3 * test::normals({4, 6}, 1)).index_select(0, truth) + test::normals({80, 6}, 2));
  Tensor probabilities = (2 * hard_weights(truth, 4) + test::normals({80, 4}, 3)).softmax(1);
};

TEST(ConfidentRows, MatchKnownValues) {
  const Tensor confident =
      confident_rows(torch::tensor({0.9F, 0.1F, 0.2F, 0.8F}), torch::tensor({0.5F, 0.4F, 0.1F, 0.05F}));
  EXPECT_TENSOR_EQ(confident, torch::tensor({true, true, false, true}));
}

TEST(ConfidentRows, RoundHalvesOfAnOddSetDown) {
  // Of five, two have small probability gaps, and three are not among the two with the largest distance gaps.
  const Tensor gap = torch::tensor({0.1F, 0.2F, 0.3F, 0.4F, 0.5F});
  EXPECT_TENSOR_EQ(confident_rows(gap, gap), torch::tensor({false, false, true, true, true}));
  const Tensor equal = torch::ones({5});
  EXPECT_TENSOR_EQ(confident_rows(equal, -gap), torch::tensor({true, true, true, true, true}));
}

TEST(Lead, IsTheFirstMinusTheSecond) {
  EXPECT_TENSOR_NEAR(lead(torch::tensor({{0.1F, 0.7F, 0.2F}, {0.4F, 0.2F, 0.4F}})), torch::tensor({0.5F, 0.0F}), 1e-7);
}

TEST(NearestNeighbours, AreAllOthersInASmallSet) {
  const Tensor lists = nearest_neighbours(unit_vectors({0, 10, 25, 45}), kAnchorNeighbours);
  EXPECT_TENSOR_EQ(lists, test::indices({1, 2, 3, 0, 2, 3, 1, 3, 0, 2, 1, 0}).view({4, 3}));
}

TEST(NearestNeighbours, MatchTheFullDistanceMatrix) {
  const Tensor rows = test::normals({200, 8}, 4);
  Tensor distances = cosine_distances(rows, rows);
  distances.fill_diagonal_(INFINITY);
  EXPECT_TENSOR_EQ(nearest_neighbours(rows, 7), std::get<1>(distances.topk(7, 1, /*largest=*/false)));
}

TEST(WalkToAnchors, WalksFromNeighbourToNeighbour) {
  // Only 45 degrees is confident; it falls back to its first neighbour.
  const Tensor lists = nearest_neighbours(unit_vectors({0, 10, 25, 45}), kAnchorNeighbours);
  const Tensor confident = torch::tensor({false, false, false, true});
  EXPECT_TENSOR_EQ(walk_to_anchors(lists, confident), test::indices({3, 3, 3, 2}));
}

TEST(WalkToAnchors, TakesTheFirstNeighbourAfterTooManyHops) {
  // 0 -> 10 -> 25 -> 45 takes three hops, and so does 10 -> 0 -> 25 -> 45.
  const Tensor lists = nearest_neighbours(unit_vectors({0, 10, 25, 45}), kAnchorNeighbours);
  const Tensor confident = torch::tensor({false, false, false, true});
  EXPECT_TENSOR_EQ(walk_to_anchors(lists, confident, 2), test::indices({1, 0, 1, 2}));
}

TEST(WalkToAnchors, NeverRevisitsADuplicatedPicture) {
  const Tensor rows = unit_vectors({10, 10, 10, 50, 80});
  const Tensor anchors = walk_to_anchors(nearest_neighbours(rows, kAnchorNeighbours), torch::ones({5}, torch::kBool));
  EXPECT_FALSE((anchors == torch::arange(5)).any().item<bool>());
}

TEST(NearestConfident, IsThePictureItselfIfConfident) {
  const Tensor rows = unit_vectors({0, 10, 25, 45, 45});
  const Tensor anchors = nearest_confident(rows, torch::tensor({true, false, false, true, true}));
  EXPECT_TENSOR_EQ(anchors.narrow(0, 0, 2), test::indices({0, 0}));
  EXPECT_TENSOR_EQ(anchors.narrow(0, 3, 2), test::indices({3, 4}));
  EXPECT_GE(anchors[2].item<int64_t>(), 3);
}

TEST(Shares, DependOnOptionsAndKey) {
  EXPECT_TENSOR_EQ(draw_shares(9, {1, 0, false}, Random(1)), torch::ones({9}));
  const Tensor shares = draw_shares(20000, {}, Random(1));
  EXPECT_TENSOR_EQ(shares, draw_shares(20000, {}, Random(1)));
  EXPECT_NEAR(shares.mean().item<double>(), 0.85, 0.005);
  EXPECT_NEAR(shares.std().item<double>(), 0.15, 0.005);
  EXPECT_NEAR((shares > 1).to(torch::kFloat32).mean().item<double>(), 0.16, 0.01) << "not clipped";
  EXPECT_LE(draw_shares(20000, {0.85, 0.15, true}, Random(1)).max().item<double>(), 1);
}

TEST(AnchoredLabels, EqualShotsWithoutAnchors) {
  // Two sources that see the same clusters, fused.
  const Tensor truth = torch::arange(80) % 4, weights = torch::tensor({0.7F, 0.3F});
  const auto seen = [&](const Tensor& middles, uint64_t seed) {
    return middles.index_select(0, truth) + test::normals({80, middles.size(1)}, seed);
  };
  const Tensor features =
      fused({seen(3 * test::normals({4, 6}, 1), 2), seen(3 * test::normals({4, 6}, 3), 4)}, weights);
  const Tensor rows = with_one_normalised(features);
  const Tensor p = fused({seen(2 * torch::eye(4), 5), seen(2 * torch::eye(4), 6)}, weights).softmax(1);
  const Tensor shares = draw_shares(80, {1, 0, false}, Random(1));
  for (const AnchorSearch search : {AnchorSearch::kWalk, AnchorSearch::kNearest}) {
    const AnchoredLabels own = anchored_labels(p, rows, test::normals({80, 9}, 7), shares, search);
    EXPECT_TENSOR_EQ(own.labels, centroid_labels(rows, p));
    EXPECT_GE(own.confident.sum().item<int64_t>(), 40);
  }
}

TEST(AnchoredLabels, PapersFormMovesOnlyUnconfidentPictures) {
  const Groups groups;
  const Tensor shares = draw_shares(80, {}, Random(1));
  const AnchoredLabels own =
      anchored_labels(groups.probabilities, groups.rows, groups.rows, shares, AnchorSearch::kNearest);
  const Tensor moved = own.anchors != torch::arange(80);
  EXPECT_TENSOR_EQ(moved, own.confident.logical_not());
  EXPECT_GT((own.labels == groups.truth).sum().item<int64_t>(), 72);
}

TEST(AnchoredLabels, NeverUseAnEmptyClass) {
  // The last class has zero probability everywhere, hence no centroid.
  const Groups groups;
  const Tensor probabilities = at::cat({groups.probabilities, torch::zeros({80, 1})}, 1);
  const AnchoredLabels own =
      anchored_labels(probabilities, groups.rows, groups.rows, draw_shares(80, {}, Random(1)), AnchorSearch::kWalk);
  EXPECT_LT(own.labels.max().item<int64_t>(), 4);
  EXPECT_GT((own.labels == groups.truth).sum().item<int64_t>(), 72);
}

}  // namespace
}  // namespace tributary

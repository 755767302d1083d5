#include "tributary/adapt/neighbourhood.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

// Unit vectors in the plane.
Tensor directions(const std::vector<double>& degrees) {
  const Tensor angle = torch::tensor(degrees) * (3.14159265358979 / 180);
  return at::stack({angle.cos(), angle.sin()}, 1);
}

TEST(JointNeighbours, AreTheNearestByWeightedCosine) {
  const Tensor first = directions({0, 10, 40, 90}), second = 7 * directions({0, 80, 5, 90});  // length does not count
  EXPECT_TENSOR_EQ(joint_neighbours({first, second}, torch::tensor({1.0f, 0.0f}), 2),
                   test::indices({1, 2, 0, 2, 1, 0, 2, 1}).view({4, 2}));
  EXPECT_TENSOR_EQ(joint_neighbours({first, second}, torch::tensor({0.0f, 1.0f}), 1),
                   test::indices({2, 3, 0, 1}).view({4, 1}));
  // With equal weights sample 0 has cosines (.985 + .174)/2 to 1 and (.766 + .996)/2 to 2.
  EXPECT_EQ(joint_neighbours({first, second}, torch::tensor({0.5f, 0.5f}), 1)[0][0].item<int64_t>(), 2);
  EXPECT_EQ(joint_neighbours({first}, torch::tensor({1.0f}), 9).size(1), 3) << "all others at most";
}

TEST(JointNeighbours, OfManySamplesAreThoseOfOneBlock) {
  const Tensor features = test::normals({2500, 3}, 1), unit = features / features.norm(2, {1}, true);
  Tensor similarity = unit.mm(unit.t());
  similarity.fill_diagonal_(-2);
  const Tensor found = joint_neighbours({features}, torch::tensor({1.0f}), 1).flatten();
  const Tensor best = std::get<0>(similarity.max(1));
  EXPECT_TENSOR_NEAR(similarity.gather(1, found.unsqueeze(1)).flatten(), best, 1e-6);
}

TEST(NeighbourAverage, MixesAScoreWithItsNeighboursMean) {
  const Tensor score = torch::tensor({1.f, 0.f, 0.f, 1.f, .5f, .5f}).view({3, 2});
  const Tensor neighbours = test::indices({1, 2, 0, 2, 0, 1}).view({3, 2});
  EXPECT_TENSOR_NEAR(neighbour_average(score, neighbours, 0.5),
                     torch::tensor({.625f, .375f, .375f, .625f, .5f, .5f}).view({3, 2}), 1e-6);
  EXPECT_TENSOR_NEAR(neighbour_average(score, neighbours, 0), score, 0);
}

}  // namespace
}  // namespace tributary

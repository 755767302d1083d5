#include "tributary/methods/nrc/reciprocity.h"

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

constexpr NeighbourCounts kOne{1, 1};

NeighbourSchedule always(NeighbourCounts counts) {
  return {counts, counts, 100};
}

// Points on the unit circle, [n, 2].
Tensor at_degrees(const std::vector<double>& angles) {
  const Tensor radians = torch::tensor(angles, torch::kFloat64) * (M_PI / 180);
  return at::stack({radians.cos(), radians.sin()}, 1).to(torch::kFloat32);
}

Neighbourhood whole_set(const Tensor& bank, const NeighbourSchedule& schedule, double done = 0,
                        SelfTerm self = SelfTerm::kAsNeighbour) {
  return find_neighbourhood(bank, torch::arange(bank.size(0)), schedule, torch::tensor(static_cast<float>(done)), self);
}

// The number of near and expanded neighbours of the first picture with a positive weight.
std::pair<int64_t, int64_t> counting(const Neighbourhood& found) {
  return {found.near_weight[0].count_nonzero().item<int64_t>(),
          found.expanded_weight[0][0].count_nonzero().item<int64_t>()};
}

TEST(NeighbourDivergence, IsNegativeEntropyMinusInnerProduct) {
  const Tensor score = torch::tensor({0.6, 0.4}, torch::kFloat64);
  const Tensor p = torch::tensor({0.8, 0.2}, torch::kFloat64).requires_grad_();
  const Tensor divergence = neighbour_divergence(score, p);
  EXPECT_NEAR(divergence.item<double>(), -1.233012, 1e-6);
  divergence.backward();
  EXPECT_TENSOR_NEAR(p.grad(), -score, 1e-12);
}

TEST(NeighbourDivergence, OfACertainNeighbourIsMinusItsClassProbability) {
  const Tensor p = torch::tensor({0.5, 0.3, 0.2});
  for (int64_t c = 0; c < 3; ++c)
    EXPECT_EQ(neighbour_divergence(torch::eye(3)[c], p).item<float>(), -p[c].item<float>());
}

TEST(Reciprocity, IsOneBetweenMutualNeighbours) {
  const Neighbourhood found = whole_set(at_degrees({0, 5, 30, 35}), always(kOne));
  EXPECT_TENSOR_EQ(found.near.view({-1}), test::indices({1, 0, 3, 2}));
  EXPECT_TENSOR_EQ(found.near_weight, torch::ones({4, 1}));
}

TEST(Reciprocity, IsWeakForOneSidedNeighbours) {
  // 10 degrees is nearest to 0, but 12 is nearest to 10.
  const Neighbourhood found = whole_set(at_degrees({0, 10, 12}), always(kOne));
  EXPECT_TENSOR_EQ(found.near.view({-1}), test::indices({1, 2, 1}));
  EXPECT_TENSOR_EQ(found.near_weight.view({-1}), torch::tensor({0.1f, 1.f, 1.f}));
}

TEST(Reciprocity, ExpandedWeightsDoNotOverwriteTheOnes) {
  // The released VisDA code overwrites them.
  const Neighbourhood found = whole_set(at_degrees({0, 5, 30, 35}), always({2, 2}));
  EXPECT_TENSOR_EQ(found.expanded_weight, torch::full({4, 2, 2}, 0.1f));
  EXPECT_EQ(found.near_weight.max().item<float>(), 1);
  EXPECT_FALSE(found.near_weight.is_alias_of(found.expanded_weight));
}

TEST(Reciprocity, IgnoresNeighboursBeyondTheRanksInUse) {
  // 0 is the third nearest to 10: reciprocal only if three neighbours count.
  const Tensor bank = at_degrees({0, 10, 12, 17});
  const NeighbourSchedule schedule{{1, 2}, {1, 3}, 10};
  EXPECT_EQ(whole_set(bank, schedule, 0).near_weight[0][0].item<float>(), 0.1f);
  EXPECT_EQ(whole_set(bank, schedule, 6).near_weight[0][0].item<float>(), 1);
}

TEST(Reciprocity, HasNoGradientForUniformPredictions) {
  const Tensor logits = torch::zeros({6, 4}, torch::kFloat64).requires_grad_();
  const Neighbourhood found = whole_set(at_degrees({0, 10, 12, 40, 43, 70}), always({3, 2}));
  const ReciprocityLosses losses =
      reciprocity_losses(torch::full({6, 4}, 0.25, torch::kFloat64), found, logits.softmax(1));
  (losses.near + losses.expanded).backward({}, /*retain_graph=*/true);
  EXPECT_TENSOR_NEAR(logits.grad(), torch::zeros({6, 4}), 1e-8);
  losses.diversity.backward();
  EXPECT_TENSOR_NEAR(logits.grad(), torch::zeros({6, 4}), 1e-8);
}

TEST(Reciprocity, FindsDuplicatesButNeverThePictureItself) {
  const Tensor bank = at_degrees({20, 20, 20, 80});
  const Neighbourhood found = whole_set(bank, always({2, 2}));
  for (int64_t i = 0; i < 4; ++i) EXPECT_FALSE(found.near[i].eq(i).any().item<bool>()) << i;
  EXPECT_TRUE(found.near[0].eq(1).any().item<bool>());
  EXPECT_TENSOR_EQ(nearest_rows(at_degrees({20, 80, 20}), test::indices({0, 2}), 1).view({-1}), test::indices({2, 0}));
}

TEST(NeighbourSchedule, ChangesAfterHalfOfTheSteps) {
  const Tensor bank = at_degrees({0, 1, 3, 7, 15, 31, 63});
  const NeighbourSchedule office_home{{3, 2}, {5, 4}, 100};
  const std::pair<int64_t, int64_t> at_first(3, 2), later(5, 4);
  EXPECT_EQ(counting(whole_set(bank, office_home, 0)), at_first);
  EXPECT_EQ(counting(whole_set(bank, office_home, 50)), at_first);
  EXPECT_EQ(counting(whole_set(bank, office_home, 51)), later);
  EXPECT_EQ(count_now(torch::tensor(3.f), 7, 3, 5).item<int64_t>(), 3) << "3 of 7 are less than half";
  EXPECT_EQ(count_now(torch::tensor(4.f), 7, 3, 5).item<int64_t>(), 5);
}

TEST(NeighbourSchedule, UsesTheFirstNumbersBeforeTheChange) {
  NeighbourBanks banks(20, 8, 5, torch::kCPU);
  const Tensor p = test::normals({20, 5}, 2).softmax(1);
  banks.write(torch::arange(20), test::normals({20, 8}, 1), p);
  const auto losses = [&](const NeighbourSchedule& schedule, double done) {
    return reciprocity_losses(banks.scores, whole_set(banks.features, schedule, done), p);
  };
  const NeighbourSchedule office_home{{3, 2}, {5, 4}, 100};
  for (const auto& [counts, done] : {std::pair(office_home.first, 20.0), std::pair(office_home.later, 80.0)}) {
    const ReciprocityLosses scheduled = losses(office_home, done), fixed = losses(always(counts), done);
    EXPECT_TENSOR_NEAR(scheduled.near, fixed.near, 1e-6);
    EXPECT_TENSOR_NEAR(scheduled.expanded, fixed.expanded, 1e-6);
  }
}

TEST(NeighbourSchedule, IsLimitedByTheSetSize) {
  const Neighbourhood found = whole_set(at_degrees({0, 50}), {{3, 2}, {5, 4}, 100});
  EXPECT_TENSOR_EQ(found.near.view({-1}), test::indices({1, 0}));
  EXPECT_TENSOR_EQ(found.near_weight, torch::ones({2, 1}));
  EXPECT_EQ(found.expanded.sizes(), torch::IntArrayRef({2, 1, 1}));
}

TEST(SelfTerm, OwnLossReplacesThePictureAmongNeighboursNeighbours) {
  const Tensor bank = at_degrees({0, 5, 30, 35});
  const Neighbourhood found = whole_set(bank, always(kOne), 0, SelfTerm::kOwnLoss);
  EXPECT_TENSOR_EQ(found.near_weight, torch::ones({4, 1}));
  EXPECT_TENSOR_EQ(found.expanded_weight, torch::zeros({4, 1, 1}));
  const Tensor p = torch::tensor({0.8, 0.2, 0.5, 0.5, 1.0, 0.0, 0.4, 0.6}).view({4, 2}).requires_grad_();
  const ReciprocityLosses losses = reciprocity_losses(p.detach(), found, p, SelfTerm::kOwnLoss);
  EXPECT_NEAR(losses.self.item<double>(), -(0.68 + 0.5 + 1 + 0.52) / 4, 1e-6);
  losses.self.backward();
  EXPECT_TENSOR_NEAR(p.grad(), -p.detach() / 4, 1e-7);
}

TEST(NeighbourBanks, StoreUnitFeaturesInPlace) {
  NeighbourBanks banks(3, 2, 2, torch::kCPU);
  const void* memory = banks.features.data_ptr();
  banks.write(test::indices({2, 0}), torch::tensor({3.f, 4.f, 0.f, 0.f}).view({2, 2}),
              torch::tensor({0.9f, 0.1f, 0.5f, 0.5f}).view({2, 2}));
  EXPECT_TENSOR_NEAR(banks.features, torch::tensor({0.f, 0.f, 0.f, 0.f, 0.6f, 0.8f}).view({3, 2}), 1e-7);
  EXPECT_TENSOR_EQ(banks.scores, torch::tensor({0.5f, 0.5f, 0.f, 0.f, 0.9f, 0.1f}).view({3, 2}));
  EXPECT_EQ(banks.features.data_ptr(), memory);
}

}  // namespace
}  // namespace tributary

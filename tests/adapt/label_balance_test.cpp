#include "tributary/adapt/label_balance.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

const double kLn2 = std::log(2), kLn3 = std::log(3);

TEST(LabelBalance, MatchesKnownOffsets) {
  // One row (0.8, 0.2) becomes uniform if the difference of its logits, ln 4, is taken away.
  EXPECT_TENSOR_NEAR(balancing_offsets(torch::tensor({{0.8, 0.2}})), torch::tensor({-kLn2, kLn2}), 1e-6);
  EXPECT_TENSOR_NEAR(balancing_offsets(torch::tensor({{0.5, 0.5}}), torch::tensor({0.9, 0.1})),
                     torch::tensor({kLn3, -kLn3}), 1e-6);
}

TEST(LabelBalance, MovesTheMeanToThePrior) {
  const Tensor p = torch::tensor({{0.9, 0.05, 0.05}, {0.8, 0.1, 0.1}, {0.6, 0.3, 0.1}, {0.1, 0.2, 0.7}});
  const Tensor prior = torch::tensor({0.5, 0.2, 0.3}), one = torch::ones({});
  EXPECT_TENSOR_NEAR(with_offsets(p, balancing_offsets(p), one).mean(0), torch::full({3}, 1.0 / 3), 2e-3);
  EXPECT_TENSOR_NEAR(with_offsets(p, balancing_offsets(p, prior), one).mean(0), prior, 2e-3);
}

TEST(LabelBalance, LeavesBalancedLabelsAlone) {
  const Tensor p = torch::tensor({{0.7, 0.2, 0.1}, {0.1, 0.7, 0.2}, {0.2, 0.1, 0.7}});
  EXPECT_TENSOR_NEAR(balancing_offsets(p), torch::zeros({3}), 1e-6);
}

TEST(LabelBalance, ScalesOffsetsLikeLogits) {
  // Logits that are twice as large need offsets that are twice as large.
  const Tensor p = torch::tensor({{0.8, 0.2}}), offsets = torch::tensor({-kLn2, kLn2});
  EXPECT_TENSOR_NEAR(with_offsets(p, offsets, torch::full({}, 2.0)), torch::tensor({{0.2, 0.8}}), 1e-6);
}

TEST(LabelBalance, KeepsOffsetsOfImpossibleClassesFinite) {
  const Tensor offsets = balancing_offsets(torch::tensor({{1.0, 0.0}, {1.0, 0.0}}));
  EXPECT_TRUE(offsets.isfinite().all().item<bool>());
  EXPECT_EQ(with_offsets(torch::tensor({{1.0, 0.0}}), offsets, torch::ones({})).argmax(-1).item<int64_t>(), 0);
}

}  // namespace
}  // namespace tributary

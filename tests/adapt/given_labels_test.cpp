#include "tributary/adapt/given_labels.h"

#include <gmock/gmock.h>

#include "tests/support/tensors.h"
#include "tributary/adapt/prototypes.h"

namespace tributary {
namespace {

GivenLabels given(std::vector<int64_t> index, std::vector<int64_t> label) {
  return {torch::tensor(index, torch::kInt64), torch::tensor(label, torch::kInt64)};
}

TEST(GivenLabels, ReplaceLabelsAndScores) {
  const GivenLabels two = given({0, 2}, {1, 0});
  EXPECT_TENSOR_EQ(with_given_labels(torch::tensor({0, 0, -1, 1}), two), torch::tensor({1, 0, 0, 1}));
  const Tensor score = torch::tensor({{0.9, 0.1}, {0.4, 0.2}, {0.1, 0.8}});
  EXPECT_TENSOR_EQ(with_given_scores(score, two), torch::tensor({{0.0, 1.0}, {0.4, 0.2}, {1.0, 0.0}}));
  EXPECT_TENSOR_EQ(with_given_scores(score, {}), score);
}

TEST(GivenLabels, AreSelectedEvenIfNothingElseIs) {
  const Tensor score = torch::tensor({{0.9, 0.1}, {0.5, 0.4}, {0.3, 0.2}, {0.2, 0.1}});
  const Selection selection = with_given_selected(select_confident(score, 2), given({1, 3}, {1, 1}));
  EXPECT_TENSOR_EQ(selection.label, torch::tensor({0, 1, -1, 1}));
  EXPECT_TENSOR_EQ(selection.confident, torch::tensor({3, 0, 1}));
  EXPECT_TENSOR_EQ(selection.unconfident, torch::tensor({2}));
}

TEST(GivenLabels, CountForMoreThanPseudoLabels) {
  const GivenLabels one = given({1}, {0});
  EXPECT_TENSOR_EQ(given_sample_weights(3, one, 5), torch::tensor({1.f, 5.f, 1.f}));
  EXPECT_TENSOR_EQ(given_sample_weights(3, one, 5, torch::tensor({0.5, 0.5, 2.0})), torch::tensor({0.5f, 5.f, 2.f}));
}

// Refinement relabels the outlier at 9, which is nearer to the other class, unless its label is given.
TEST(GivenLabels, PrototypesNeverRelabelThem) {
  const Tensor features = torch::tensor({0.0, 1.0, 9.0, 10.0, 11.0}).unsqueeze(1);
  const Tensor label = torch::tensor({0, 0, 0, 1, 1}), probabilities = torch::full({5, 2}, 0.5);
  PrototypeOptions options;
  options.passes = 2;
  const Tensor free = refined_posterior(features, label, probabilities, options);
  const Tensor fixed = refined_posterior(features, label, probabilities, options, {}, given({2}, {0}));
  const auto expected = [&](double first, double second) {
    return prototype_posterior(features, torch::tensor({{first}, {second}}).to(torch::kFloat32), options);
  };
  EXPECT_TENSOR_NEAR(free, expected(0.5, 10), 1e-5);
  EXPECT_TENSOR_NEAR(fixed, expected(10.0 / 3, 10.5), 1e-5);
}

}  // namespace
}  // namespace tributary

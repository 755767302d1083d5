#include "tributary/adapt/selection.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

TEST(ConfidentCount, MatchesThePaperOnOffice31) {
  // D,W -> A of Office-31: 2,112 of 2,817 confident initially, 20 rounds.
  EXPECT_EQ(confident_count(2112, 2817, 1, 20), 2147);
  EXPECT_EQ(confident_count(2112, 2817, 2, 20), 2182);
  EXPECT_EQ(confident_count(2112, 2817, 20, 20), 2817);
}

TEST(ConfidentCount, ReleasedCodeStartsAtN0AndNeverSelectsAll) {
  EXPECT_EQ(confident_count(2112, 2817, 1, 20, Growth::kCode), 2112);
  EXPECT_EQ(confident_count(2112, 2817, 2, 20, Growth::kCode), 2147);
  EXPECT_EQ(confident_count(2112, 2817, 20, 20, Growth::kCode), 2777);
}

TEST(InitialCount, ComparesWithAShareOfTheMeanConfidence) {
  const Tensor confidence = torch::tensor({0.25, 0.5, 0.75, 0.5}, torch::kFloat64);
  EXPECT_EQ(initial_count(confidence, 1.0, Threshold::kAtLeast), 3);
  EXPECT_EQ(initial_count(confidence, 1.0, Threshold::kAbove), 1);
  EXPECT_EQ(initial_count(confidence, 0.5, Threshold::kAtLeast), 4);
}

TEST(Selection, SelectsTheMostConfidentWithTheirLabels) {
  const Tensor score = torch::tensor({0.9f, 0.1f, 0.3f, 0.4f, 0.2f, 0.8f}).view({3, 2});
  const Selection selection = select_confident(score, 2);
  EXPECT_TENSOR_EQ(selection.confident, test::indices({0, 2}));
  EXPECT_TENSOR_EQ(selection.unconfident, test::indices({1}));
  EXPECT_TENSOR_EQ(selection.label, test::indices({0, Selection::kUnlabelled, 1}));
}

TEST(Selection, BreaksTiesByIndex) {
  const Selection selection = select_confident(torch::full({1000, 3}, 0.5), 600);
  EXPECT_TENSOR_EQ(selection.confident, torch::arange(600));
  EXPECT_TENSOR_EQ(selection.unconfident, torch::arange(600, 1000));
}

TEST(Selection, OracleSelectsExactlyTheRightLabels) {
  const Tensor score = torch::tensor({0.9f, 0.1f, 0.3f, 0.4f, 0.2f, 0.8f, 0.6f, 0.5f}).view({4, 2});
  const Selection selection = select_with_oracle(score, test::indices({1, 1, 1, 0}));
  EXPECT_TENSOR_EQ(selection.confident, test::indices({2, 3, 1}));
  EXPECT_TENSOR_EQ(selection.unconfident, test::indices({0}));
  EXPECT_TENSOR_EQ(selection.label, test::indices({Selection::kUnlabelled, 1, 1, 0}));
}

TEST(DenoisedScore, IsTheMixtureTimesTheWeightedPosterior) {
  const Tensor mixture = torch::tensor({0.6f, 0.4f}).view({1, 2});
  const Tensor posteriors = torch::tensor({0.2f, 0.8f, 1.f, 0.f}).view({2, 1, 2});
  const Tensor score = denoised_score(mixture, torch::tensor({0.75f, 0.25f}), posteriors);
  EXPECT_TENSOR_NEAR(score, torch::tensor({0.6f * 0.4f, 0.4f * 0.6f}).view({1, 2}), 1e-6);
}

TEST(SelectionPerClass, TakesTheSameShareOfEveryPseudoClass) {
  // Four samples of class 0, two of class 1 and one of class 2, which all are less confident.
  const Tensor score = torch::tensor({.9f, 0.f, 0.f, .8f, 0.f, 0.f, .7f, 0.f, 0.f, .6f, 0.f,
                                      0.f, 0.f, .5f, 0.f, 0.f, .4f, 0.f, 0.f, 0.f, .1f})
                           .view({7, 3});
  const Selection selection = select_confident_per_class(score, 3);  // a share of 3/7: 2 of 4, 1 of 2, 1 of 1
  EXPECT_TENSOR_EQ(selection.confident, test::indices({0, 1, 4, 6}));
  EXPECT_TENSOR_EQ(selection.unconfident, test::indices({2, 3, 5}));
  EXPECT_TENSOR_EQ(selection.label, test::indices({0, 0, -1, -1, 1, -1, 2}));
  EXPECT_TENSOR_EQ(select_confident_per_class(score, 7).confident, torch::arange(7));
}

}  // namespace
}  // namespace tributary

#include "tributary/adapt/collapse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Certain predictions: picture i of class labels[i].
Tensor certain(const std::vector<int64_t>& labels, int64_t classes) {
  Tensor probabilities = torch::zeros({static_cast<int64_t>(labels.size()), classes});
  for (size_t i = 0; i < labels.size(); ++i) probabilities[static_cast<int64_t>(i)][labels[i]] = 1;
  return probabilities;
}

TEST(Collapse, ScoresHaveKnownValues) {
  const LabelFreeScores two = label_free_scores(certain({0, 0, 1, 1}, 4), torch::tensor({1.0F, 3.0F}), 2);
  EXPECT_EQ(two.classes, 2);
  EXPECT_NEAR(two.entropy, 0, 1e-3);
  EXPECT_NEAR(two.marginal_entropy, std::log(2), 1e-3);
  EXPECT_NEAR(two.trust, 0.75, 1e-5);
  const LabelFreeScores unsure = label_free_scores(torch::full({3, 4}, 0.25), Tensor(), 5);
  EXPECT_NEAR(unsure.entropy, std::log(4), 1e-3);
  EXPECT_NEAR(unsure.marginal_entropy, std::log(4), 1e-3);
  EXPECT_NEAR(unsure.trust, 0.2, 1e-6);
}

TEST(Collapse, IgnoresClassesWithFewPictures) {
  std::vector<int64_t> labels(1000, 0);
  labels[0] = 1;  // 1 of 1,000, below the threshold of a fortieth (a tenth of a fair share of four classes)
  EXPECT_EQ(label_free_scores(certain(labels, 4), Tensor(), 1).classes, 1);
}

TEST(Collapse, AcceptsAHealthyAdaptation) {
  const LabelFreeScores before{10, 1.5, 2.25, 0.4}, after{9, 0.1, 2.1, 0.7};
  EXPECT_THAT(signs_of_collapse(before, after, 3), IsEmpty());
  EXPECT_THAT(signs_of_collapse({2, 0.6, 0.69, 1}, {2, 0.1, 0.6, 1}, 1), IsEmpty()) << "there is only one source";
}

TEST(Collapse, ReportsEachSign) {
  const LabelFreeScores before{10, 1.5, 2.2, 0.4};
  EXPECT_THAT(signs_of_collapse(before, {5, 0.1, 2.0, 0.5}, 3), ElementsAre(HasSubstr("only 5 of 10 classes")));
  EXPECT_THAT(signs_of_collapse(before, {10, 0.1, 2.0, 0.995}, 3), ElementsAre(HasSubstr("one source")));
  EXPECT_THAT(signs_of_collapse(before, {10, 0.1, 1.6, 0.5}, 3), ElementsAre(HasSubstr("fell from 2.20 to 1.60")));
  EXPECT_THAT(signs_of_collapse({2, 0.6, 0.69, 0.5}, {1, 0.6, 0.55, 0.5}, 2), IsEmpty())
      << "a set may contain one of two classes";
  EXPECT_EQ(signs_of_collapse(before, {1, 0.0, 0.0, 1.0}, 3).size(), 3u);
}

}  // namespace
}  // namespace tributary

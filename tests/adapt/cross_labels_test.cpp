#include "tributary/adapt/cross_labels.h"

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

// Logits of a source that gives each sample's class this probability of two.
Tensor sure_of_first(const std::vector<double>& probability) {
  Tensor logits = torch::zeros({static_cast<int64_t>(probability.size()), 2});
  for (size_t i = 0; i < probability.size(); ++i)
    logits[static_cast<int64_t>(i)][0] = std::log(probability[i] / (1 - probability[i]));
  return logits;
}

TEST(CrossLabels, ASourceIsOutvotedWhereTheOthersAreSurer) {
  // Sample 0: all say class 0. Sample 1: the last source alone says class 1, and overrules the others in the mixture.
  // Sample 2: the others of source 2 are split, so that they are less sure than the mixture.
  const Tensor logits =
      at::stack({sure_of_first({.9, .9, .6}), sure_of_first({.9, .8, .4}), sure_of_first({.9, .01, .1})});
  const Tensor weights = torch::ones({3});
  const Tensor mixture = at::tensordot(weights, logits, {0}, {0}).argmax(-1);
  EXPECT_TENSOR_EQ(mixture, test::indices({0, 1, 1}));
  EXPECT_TENSOR_EQ(cross_labels(mixture, {logits, {}, weights}),
                   at::stack({test::indices({0, 1, 1}), test::indices({0, 1, 1}), test::indices({0, 0, 1})}));
}

TEST(CrossLabels, PosteriorsOfTheOthersCount) {
  const Tensor logits = at::stack({sure_of_first({.6}), sure_of_first({.6})});
  // By its prototypes the first source is sure of class 1, the second of class 0.
  const Tensor posteriors = torch::tensor({0.1, 0.9, 0.9, 0.1}).view({2, 1, 2});
  // s = (.69, .31) * .5 for both; without source 0 (.6, .4) * (.9, .1), without source 1 (.6, .4) * (.1, .9).
  EXPECT_TENSOR_EQ(cross_labels(test::indices({0}), {logits, posteriors, torch::ones({2})}),
                   test::indices({0, 1}).view({2, 1}));
}

TEST(CrossLabels, AloneASourceKeepsItsLabels) {
  const Tensor logits = sure_of_first({.9, .2}).unsqueeze(0);
  EXPECT_TENSOR_EQ(cross_labels(test::indices({1, 0}), {logits, {}, torch::ones({1})}),
                   test::indices({1, 0}).unsqueeze(0));
}

}  // namespace
}  // namespace tributary

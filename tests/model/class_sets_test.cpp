#include "tributary/model/class_sets.h"

#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;

Tensor mask(std::vector<int64_t> ones, int64_t sources) {
  return torch::tensor(ones, torch::kInt64).view({sources, -1}) > 0;
}

TEST(OutputMap, PlacesMergesAndLeavesOut) {
  // Outputs 0 and 3 are class 2, output 1 is class 0, output 2 is class 3; nothing is class 1.
  const OutputMap map({2, 0, 3, 2}, 4);
  const Tensor z = torch::tensor({0.5f, -1.f, 2.f, 1.5f}).view({1, 4});
  const double merged = std::log(std::exp(0.5) + std::exp(1.5));
  EXPECT_TENSOR_NEAR(map.apply(z), torch::tensor({-1.0, 0.0, merged, 2.0}).view({1, 4}), 1e-6);
  EXPECT_TENSOR_EQ(map.known(), mask({1, 0, 1, 1}, 1)[0]);
}

TEST(OutputMap, MovesSingleOutputsExactly) {
  const Tensor z = test::normals({5, 3}, 1);
  EXPECT_TENSOR_EQ(OutputMap({1, 2, 0}, 3).apply(z), z.index_select(1, test::indices({2, 0, 1})));
  EXPECT_TRUE(OutputMap({0, 1, 2}, 3).empty());
  EXPECT_FALSE(OutputMap({1, 2, 0}, 3).known().defined());
}

TEST(CompleteLogits, RecoversCommonLogitsAndOffsets) {
  const Tensor known = mask({1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0}, 3);  // a cycle of three sources
  const Tensor u = test::normals({1, 6, 4}, 1), c = 5 * test::normals({3, 6, 1}, 2);
  const Tensor full = u + c;
  EXPECT_TENSOR_NEAR(complete_logits(full.masked_fill(known.logical_not().unsqueeze(1), 99), known), full, 1e-4);
  EXPECT_TENSOR_EQ(complete_logits(full, Tensor()), full);
}

TEST(CompleteLogits, MovesNothingToOrFromUnknownClasses) {
  const Tensor known = mask({1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0}, 3);
  const Tensor z = 3 * test::normals({3, 20, 4}, 3);
  const Tensor full = complete_logits(z, known);
  EXPECT_TENSOR_EQ(full.masked_select(known.unsqueeze(1)), z.masked_select(known.unsqueeze(1))) << "own logits stay";
  // The mean is the fit u up to a constant per picture: deviations from it sum to zero over the known classes, and are
  // equal over the unknown ones, where they are that constant.
  const Tensor u = full.mean(0);
  for (int64_t j = 1; j < 3; ++j) {
    const Tensor deviation = full[j] - u;
    const Tensor inside = deviation.masked_select(known[j]).view({20, -1}).mean(1, true);
    const Tensor outside = deviation.masked_select(known[j].logical_not()).view({20, -1});
    EXPECT_TENSOR_NEAR(outside, inside.expand_as(outside), 1e-4);
  }
  // A constant added to a source's logits is no opinion.
  const Tensor shifted = complete_logits(z + torch::tensor({0.f, 7.f, -3.f}).view({3, 1, 1}), known);
  EXPECT_TENSOR_NEAR(shifted.softmax(-1), full.softmax(-1), 1e-4);
}

TEST(CompleteLogits, ASourceThatSaysWhatTheOthersSayChangesNothing) {
  const Tensor first = test::normals({2, 10, 3}, 4);
  const Tensor third = (first.mean(0, true) + 2).masked_fill(torch::tensor({true, false, false}), 50);
  const Tensor known = mask({1, 1, 1, 1, 1, 1, 0, 1, 1}, 3);
  EXPECT_TENSOR_NEAR(complete_logits(at::cat({first, third}), known).mean(0).softmax(-1), first.mean(0).softmax(-1),
                     1e-5);
}

TEST(Votes, AbstainWhereTheOthersFavourAnUnknownClass) {
  // Class 2 is unknown to source 1. Source 0 sees it in the first picture, but not in the second.
  const Tensor z = torch::tensor({0.f, 1.f, 9.f, 0.f, 8.f, 1.f, /**/ 0.f, 2.f, 0.f, 0.f, 3.f, 0.f}).view({2, 2, 3});
  const Tensor known = mask({1, 1, 1, 1, 1, 0}, 2);
  const Tensor full = complete_logits(z, known);
  EXPECT_TENSOR_EQ(votes(full, known), test::indices({2, 1, kAbstains, 1}).view({2, 2}));
  EXPECT_TENSOR_EQ(own_logits(full, known).argmax(-1), torch::tensor({2, 1, 1, 1}, torch::kInt64).view({2, 2}));
  EXPECT_TENSOR_EQ(votes(full, Tensor()), full.argmax(-1));
}

TEST(ClassSets, AreLinkedDirectlyOrThroughOthers) {
  EXPECT_TRUE(are_linked(mask({1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1}, 3)));
  EXPECT_FALSE(are_linked(mask({1, 1, 0, 0, 0, 0, 1, 1}, 2)));
  EXPECT_FALSE(are_linked(mask({1, 1, 0, 1, 1, 0}, 2))) << "nobody knows the last class";
  EXPECT_EQ(first_unlinked(mask({1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1}, 3)), 2);
}

TEST(ClassSets, NameWhoKnowsWhat) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"}, 3);
  EXPECT_TRUE(partly_known(ensemble).empty());
  EXPECT_FALSE(ensemble.known().defined());
  ensemble.sources[0].set_classes({"a", "b", "c", "d"}, {0, 1, 2});
  ensemble.sources[1].set_classes({"a", "b", "c", "d"}, {3, 1, 2});
  const auto partly = partly_known(ensemble);
  ASSERT_EQ(partly.size(), 2u);
  EXPECT_THAT(partly.at("a"), ElementsAre("lenet"));
  EXPECT_THAT(partly.at("d"), ElementsAre("dtn"));
  const torch::NoGradGuard no_gradients;
  const Tensor phi = torch::randn({2, 256});
  const Tensor placed = ensemble.sources[1].classify(phi);
  keep_known_classes(ensemble.sources[1]);
  EXPECT_THAT(ensemble.sources[1].info().classes, ElementsAre("b", "c", "d"));
  EXPECT_TENSOR_EQ(ensemble.sources[1].classify(phi), placed.narrow(1, 1, 3));
}

}  // namespace
}  // namespace tributary

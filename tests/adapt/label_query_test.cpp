#include "tributary/adapt/label_query.h"

#include <gmock/gmock.h>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

std::vector<int64_t> values_of(const Tensor& tensor) {
  return {tensor.data_ptr<int64_t>(), tensor.data_ptr<int64_t>() + tensor.numel()};
}

TEST(LabelQuery, AsksForTheMiddleOfEveryGroupLargestFirst) {
  // Three groups on a line, with their middles in rows 1, 5 and 8.
  const Tensor features = torch::tensor({0.0, 0.1, 0.2, 4.8, 4.9, 5.0, 5.1, 5.2, 9.0}).unsqueeze(1);
  for (uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_THAT(values_of(representative_rows(features, torch::ones({9}), 3, Random(seed))),
                ::testing::ElementsAre(5, 1, 8))
        << seed;
}

TEST(LabelQuery, UncertainSamplesPullTheCentre) {
  const Tensor features = torch::tensor({0.0, 1.0, 2.0}).unsqueeze(1);
  const auto asked = [&](const Tensor& importance) {
    return representative_rows(features, importance, 1, Random(1)).item<int64_t>();
  };
  EXPECT_EQ(asked(torch::tensor({1.0, 1.0, 1.0})), 1);
  EXPECT_EQ(asked(torch::tensor({1.0, 1.0, 20.0})), 2);
}

TEST(LabelQuery, NeverAsksForRowsWithoutImportance) {
  const Tensor features = test::normals({20, 4}, 3);
  Tensor importance = torch::zeros({20});
  importance.slice(0, 5, 9).fill_(0.5);
  EXPECT_THAT(values_of(representative_rows(features, importance, 4, Random(2))),
              ::testing::UnorderedElementsAre(5, 6, 7, 8));
}

TEST(LabelQuery, EqualPicturesAreAskedForOnceEach) {
  EXPECT_THAT(values_of(representative_rows(torch::ones({4, 3}), torch::ones({4}), 3, Random(0))),
              ::testing::ElementsAre(0, 1, 2));
}

TEST(LabelQuery, JointFeaturesHaveTheirSourcesWeights) {
  const Tensor joint =
      joint_features({torch::tensor({{3.0, 4.0}}), torch::tensor({{0.0, 0.0, 2.0}})}, torch::tensor({0.25, 0.75}));
  EXPECT_TENSOR_NEAR(joint, torch::tensor({{0.3, 0.4, 0.0, 0.0, std::sqrt(0.75)}}), 1e-6);
}

}  // namespace
}  // namespace tributary

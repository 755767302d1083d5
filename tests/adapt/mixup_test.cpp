#include "tributary/adapt/mixup.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

const Tensor kLabel = test::indices({0, 2, 1, 1});
const Tensor kPermutation = test::indices({2, 0, 3, 1});

TEST(Mixup, RatioOneIsTheCleanBatch) {
  const Tensor x = test::normals({4, 3, 2, 2}, 1);
  const Tensor z = test::normals({4, 3}, 2);
  const Mixing mixing{torch::tensor(1.0f), kPermutation};
  EXPECT_TENSOR_NEAR(mix(x, mixing), x, 0);
  EXPECT_NEAR(mixed_cross_entropy(z, kLabel, mixing).item<double>(), at::cross_entropy_loss(z, kLabel).item<double>(),
              1e-6);
}

TEST(Mixup, LossEqualsCrossEntropyWithTheMixedTarget) {
  const Tensor z = test::normals({4, 3}, 3);
  for (const double ratio : {0.0, 0.3, 0.8}) {
    const Tensor soft =
        ratio * at::one_hot(kLabel, 3) + (1 - ratio) * at::one_hot(kLabel.index_select(0, kPermutation), 3);
    const double expected = -(soft * z.log_softmax(-1)).sum(-1).mean().item<double>();
    EXPECT_NEAR(mixed_cross_entropy(z, kLabel, {torch::tensor(static_cast<float>(ratio)), kPermutation}).item<double>(),
                expected, 1e-6);
  }
}

TEST(Mixup, MixesPicturesAndKeepsTheirLayout) {
  const Tensor x = test::normals({4, 3, 8, 8}, 4).contiguous(at::MemoryFormat::ChannelsLast);
  const Tensor mixed = mix(x, {torch::tensor(0.25f), kPermutation});
  EXPECT_TENSOR_NEAR(mixed, 0.25 * x + 0.75 * x.index_select(0, kPermutation), 1e-6);
  EXPECT_TRUE(mixed.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(SampleWeights, OfOneChangeNothing) {
  const Tensor z = test::normals({4, 3}, 4), ones = torch::ones({4});
  const Mixing mixing{torch::tensor(0.3f), kPermutation};
  EXPECT_NEAR(weighted_cross_entropy(z, kLabel, ones).item<double>(), at::cross_entropy_loss(z, kLabel).item<double>(),
              1e-6);
  EXPECT_NEAR(mixed_cross_entropy(z, kLabel, ones, mixing).item<double>(),
              mixed_cross_entropy(z, kLabel, mixing).item<double>(), 1e-6);
}

TEST(SampleWeights, FollowTheirSampleIntoMixtures) {
  // Only sample 0 counts: with its own label in row 0, and in row 1, which is mixed with it.
  const Tensor z = test::normals({4, 3}, 5), weight = torch::tensor({4.0f, 0.0f, 0.0f, 0.0f});
  const Tensor logs = z.log_softmax(-1);
  EXPECT_NEAR(weighted_cross_entropy(z, kLabel, weight).item<double>(), -logs[0][0].item<double>(), 1e-6);
  EXPECT_NEAR(mixed_cross_entropy(z, kLabel, weight, {torch::tensor(0.3f), kPermutation}).item<double>(),
              -0.3 * logs[0][0].item<double>() - 0.7 * logs[1][0].item<double>(), 1e-6);
}

}  // namespace
}  // namespace tributary

#include "tributary/train/adam.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

Tensor parameter(std::vector<float> values) {
  return torch::tensor(values).requires_grad_();
}

TEST(Adam, MatchesHandComputedSteps) {
  // Rate 0.1, gradients 0.5 and -1. First: m^ = 0.5, v^ = 0.25. Second: m^ = -0.055 / 0.19, v^ = 0.00124975 / 0.001999.
  const Tensor p = parameter({1});
  Adam adam({{{{"p", p}}, 0.1}}, {});
  adam.step({torch::tensor({0.5f})});
  EXPECT_NEAR(p.item<double>(), 0.9, 1e-6);
  adam.step({torch::tensor({-1.0f})});
  EXPECT_NEAR(p.item<double>(), 0.9 + 0.1 * (0.055 / 0.19) / std::sqrt(0.00124975 / 0.001999), 1e-6);
}

TEST(Adam, ScalesTheRateOfEveryGroup) {
  const Tensor p = parameter({1, 2}), q = parameter({3});
  Adam adam({{{{"p", p}}, 0.1}, {{}, 5}, {{{"q", q}}, 0.01}}, {});
  ASSERT_EQ(adam.parameters().size(), 2u);
  adam.step({torch::tensor({2.0f, -7.0f}), torch::tensor({1.0f})}, torch::tensor(0.5f));
  EXPECT_TENSOR_NEAR(p.detach(), torch::tensor({0.95f, 2.05f}), 1e-6);
  EXPECT_TENSOR_NEAR(q.detach(), torch::tensor({2.995f}), 1e-6);
}

TEST(Adam, AcceptsWeightsInAnyLayout) {
  const Tensor p = test::normals({4, 3, 2, 2}, 1).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const Tensor before = p.detach().clone(), slope = test::normals({4, 3, 2, 2}, 2);
  Adam adam({{{{"p", p}}, 0.1}}, {});
  adam.step({slope});
  EXPECT_TENSOR_NEAR(p.detach(), before - 0.1 * slope.sign(), 1e-5);
}

TEST(Adam, DoesNothingWhileInactive) {
  const Tensor p = parameter({1, -0.0f, 1e-30f}), q = parameter({1, -0.0f, 1e-30f});
  Adam waiting({{{{"p", p}}, 0.1}}, {}), fresh({{{{"q", q}}, 0.1}}, {});
  const Tensor bad = torch::tensor({1e30f, -1.0f, std::numeric_limits<float>::quiet_NaN()});
  for (int i = 0; i < 3; ++i) waiting.step({bad}, torch::tensor(1.0f), torch::tensor(0.0f));
  EXPECT_TRUE(torch::equal(p.detach(), q.detach()));
  EXPECT_TRUE(std::signbit(p.detach()[1].item<float>()));
  const Tensor slope = torch::tensor({1.0f, 2.0f, 3.0f});
  waiting.step({slope}, torch::tensor(1.0f), torch::tensor(1.0f));
  fresh.step({slope});
  EXPECT_TENSOR_EQ(p.detach(), q.detach());
}

}  // namespace
}  // namespace tributary

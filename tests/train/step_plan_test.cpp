#include "tributary/train/step_plan.h"

#include <gtest/gtest.h>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

TEST(StepPlan, StoresItsPartsSeparately) {
  const Tensor first = torch::arange(5), second = torch::arange(12).view({3, 4}), other = first + 7;
  const std::vector<Random> dropout_streams = {Random(9), Random(11).child(3)};
  StepPlan plan({first, second}, {0.25f, 0.5f}, dropout_streams);
  EXPECT_TENSOR_EQ(plan.part(0), first);
  EXPECT_TENSOR_EQ(plan.part(1), second);
  EXPECT_EQ(plan.real(1).item<float>(), 0.5f);
  EXPECT_EQ(static_cast<uint64_t>(plan.dropout_keys()[1].item<int64_t>()), dropout_streams[1].key());
  const StepPlan same({other, second}, {1, 2}, dropout_streams);
  EXPECT_EQ(plan.shapes(), same.shapes());
  plan.assign(same);
  EXPECT_TENSOR_EQ(plan.part(0), other);
  EXPECT_EQ(plan.real(0).item<float>(), 1);
  EXPECT_NE(StepPlan({first}, {}, {}).shapes(), plan.shapes());
}

TEST(StepPlan, StoresFloatsExactlyAmongIntegers) {
  const Tensor maps = test::normals({3, 2, 3}, 1), rows = torch::arange(3);
  const double exact = 1.0 / 3;
  StepPlan plan({rows, maps, rows + 1}, {exact}, {Random(4)});
  EXPECT_TENSOR_EQ(plan.part(0), rows);
  EXPECT_TENSOR_EQ(plan.part(1), maps);
  EXPECT_TENSOR_EQ(plan.part(2), rows + 1);
  EXPECT_EQ(plan.real(0).item<float>(), static_cast<float>(exact));
  EXPECT_EQ(plan.exact_real(0).item<double>(), exact);
  EXPECT_EQ(static_cast<uint64_t>(plan.dropout_keys()[0].item<int64_t>()), Random(4).key());
  const StepPlan other({rows + 7, 2 * maps, rows}, {2.0}, {Random(5)});
  plan.assign(other);
  EXPECT_TENSOR_EQ(plan.part(1), 2 * maps);
  EXPECT_TENSOR_EQ(plan.part(0), rows + 7);
  EXPECT_EQ(static_cast<uint64_t>(plan.dropout_keys()[0].item<int64_t>()), Random(5).key());
}

}  // namespace
}  // namespace tributary

#include "tributary/methods/selective/step_runner.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"

namespace tributary {
namespace {

constexpr int64_t kPictures = 64, kBatch = 16;

SelectiveOptions options_for(bool cuda_graph) {
  SelectiveOptions options;
  options.batch = kBatch;
  options.cuda_graph = cuda_graph;
  options.precision = Precision::kFloat32;
  return options;
}

Selection half(torch::Device device) {
  const Tensor all = torch::arange(kPictures, at::device(device).dtype(torch::kInt64));
  return {all.remainder(10), all.narrow(0, 0, kPictures / 2), all.narrow(0, kPictures / 2, kPictures / 2)};
}

StepPlan plan_of(uint64_t step, const StepRunner& runner, bool aligned, int64_t unconfident, double rate) {
  const Random random(5, Purpose::kShuffle, {step});
  const auto positions = [&](uint64_t which, int64_t count) {
    return torch::tensor(random.child(which).permutation(kPictures / 2), torch::kInt64).narrow(0, 0, count);
  };
  return runner.plan({positions(0, kBatch), aligned ? positions(1, unconfident) : Tensor()},
                     {random.child(2), random.child(3), random.child(4), random.child(5)}, rate);
}

struct Trace {
  std::vector<Tensor> losses;
  std::vector<Tensor> parameters;  // after the last step
};

// Steps of several shapes: full batches, small ones, and without unconfident pictures.
Trace trace_of(torch::Device device, bool cuda_graph, double rate) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  ensemble.to(device);
  const DeviceImages images(test::noise_pictures(kPictures), device);
  const SelectiveOptions options = options_for(cuda_graph);
  StepRunner runner(ensemble, images, options);
  const OwnStream stream(device);
  runner.begin_round(half(device));
  Trace trace;
  uint64_t step = 0;
  const auto run = [&](int times, bool aligned, int64_t unconfident = kBatch) {
    for (int i = 0; i < times; ++i)
      trace.losses.push_back(runner.run(plan_of(step++, runner, aligned, unconfident, rate)).cpu());
  };
  run(6, true);
  run(5, true, 7);
  run(2, true);
  runner.begin_round(half(device));
  run(4, true, 7);
  run(4, false);
  for (const SourceModel& source : ensemble.sources)
    for (const NamedTensor& parameter : source.backbone_parameters())
      trace.parameters.push_back(parameter.value.detach().cpu());
  return trace;
}

TEST(StepRunner, ChangesTheSourcesAndRepeatsItself) {
  const Trace one = trace_of(torch::kCPU, true, 0.5), two = trace_of(torch::kCPU, true, 0.5);
  for (size_t i = 0; i < one.losses.size(); ++i) EXPECT_TENSOR_EQ(one.losses[i], two.losses[i]);
  EXPECT_GT(test::distance(one.losses[0], one.losses[5]), 0.01);
  EXPECT_EQ(one.losses.back()[4].item<float>(), 0) << "nothing to align with";
}

// Small steps: what is compared is rounding, not how far it is carried by learning.
TEST(StepRunner, RecordedStepsAreTheEagerOnes) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setBenchmarkCuDNN(false);
  const torch::Device device(torch::kCUDA, 0);
  const Trace none = trace_of(device, false, 0), eager = trace_of(device, false, 1e-3);
  const Trace captured = trace_of(device, true, 1e-3);
  for (size_t i = 0; i < eager.losses.size(); ++i)
    EXPECT_TENSOR_NEAR(captured.losses[i], eager.losses[i], 1e-4) << "step " << i;
  double moved = 0;
  for (size_t i = 0; i < eager.parameters.size(); ++i) {
    EXPECT_TENSOR_NEAR(captured.parameters[i], eager.parameters[i], 1e-6) << "tensor " << i;
    moved = std::max(moved, test::distance(eager.parameters[i], none.parameters[i]));
  }
  EXPECT_GT(moved, 2e-5);
}

TEST(StepPlan, KeepsItsPartsApart) {
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

}  // namespace
}  // namespace tributary

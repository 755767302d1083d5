#include "tributary/methods/selective/selective_task.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/train/memory_retry.h"

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

StepDraws draws_of(uint64_t step, const SelectiveTask& task, bool aligned, int64_t unconfident, double rate) {
  const Random random(5, Purpose::kShuffle, {step});
  const auto positions = [&](uint64_t which, int64_t count) {
    return torch::tensor(random.child(which).permutation(kPictures / 2), torch::kInt64).narrow(0, 0, count);
  };
  return task.draw({positions(0, kBatch), aligned ? positions(1, unconfident) + kPictures / 2 : Tensor()},
                   {random.child(2), random.child(3), random.child(4), random.child(5)}, rate);
}

struct Trace {
  std::vector<Tensor> losses;
  std::vector<Tensor> parameters;  // after the last step
};

// Steps of several shapes: full batches, small ones, and without unconfident pictures.
Trace trace_of(torch::Device device, bool cuda_graph, double rate, Recompute recompute = Recompute::kNone) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  ensemble.to(device);
  for (SourceModel& source : ensemble.sources) set_memory(source, {recompute});
  const DeviceImages images(test::noise_pictures(kPictures), device);
  const SelectiveOptions options = options_for(cuda_graph);
  SelectiveTask task(ensemble, images, options);
  TrainingLoop loop(task, images, task.loop_options());
  const OwnStream stream(device);
  task.begin_round(half(device), 1);
  Trace trace;
  uint64_t step = 0;
  const auto run = [&](int times, bool aligned, int64_t unconfident = kBatch) {
    for (int i = 0; i < times; ++i)
      trace.losses.push_back(loop.run_step(loop.plan(draws_of(step++, task, aligned, unconfident, rate))).cpu());
  };
  run(6, true);
  run(5, true, 7);
  run(2, true);
  task.begin_round(half(device), 2);
  loop.start(task.batches().steps());
  run(4, true, 7);
  run(4, false);
  for (const SourceModel& source : ensemble.sources)
    for (const NamedTensor& parameter : source.backbone_parameters())
      trace.parameters.push_back(parameter.value.detach().cpu());
  return trace;
}

TEST(SelectiveTask, ChangesTheSourcesReproducibly) {
  const Trace one = trace_of(torch::kCPU, true, 0.5), two = trace_of(torch::kCPU, true, 0.5);
  for (size_t i = 0; i < one.losses.size(); ++i) EXPECT_TENSOR_EQ(one.losses[i], two.losses[i]);
  EXPECT_GT(test::distance(one.losses[0], one.losses[5]), 0.01);
  EXPECT_EQ(one.losses.back()[4].item<float>(), 0) << "nothing to align with";
}

// Only the order in which gradients are added may differ.
TEST(SelectiveTask, RecomputedActivationsChangeNothing) {
  const Trace stored = trace_of(torch::kCPU, true, 1e-3);
  for (const Recompute recompute : {Recompute::kWaiting, Recompute::kAll}) {
    const Trace again = trace_of(torch::kCPU, true, 1e-3, recompute);
    for (size_t i = 0; i < stored.losses.size(); ++i) EXPECT_TENSOR_NEAR(again.losses[i], stored.losses[i], 1e-4) << i;
    for (size_t i = 0; i < stored.parameters.size(); ++i)
      EXPECT_TENSOR_NEAR(again.parameters[i], stored.parameters[i], 1e-6) << i;
  }
}

// Small steps, so that the comparison measures rounding and not its amplification by training.
TEST(SelectiveTask, CapturedStepsEqualEagerOnes) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setBenchmarkCuDNN(false);
  const torch::Device device(torch::kCUDA, 0);
  const Trace none = trace_of(device, false, 0), eager = trace_of(device, false, 1e-3);
  for (const Recompute recompute : {Recompute::kNone, Recompute::kWaiting, Recompute::kAll}) {
    SCOPED_TRACE(name_of(recompute));
    const Trace captured = trace_of(device, true, 1e-3, recompute);
    for (size_t i = 0; i < eager.losses.size(); ++i)
      EXPECT_TENSOR_NEAR(captured.losses[i], eager.losses[i], 1e-4) << "step " << i;
    for (size_t i = 0; i < eager.parameters.size(); ++i)
      EXPECT_TENSOR_NEAR(captured.parameters[i], eager.parameters[i], 1e-6) << "tensor " << i;
  }
  double moved = 0;
  for (size_t i = 0; i < eager.parameters.size(); ++i)
    moved = std::max(moved, test::distance(eager.parameters[i], none.parameters[i]));
  EXPECT_GT(moved, 2e-5);
}

}  // namespace
}  // namespace tributary

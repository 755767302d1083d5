#include "tributary/methods/step_runner.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"

namespace tributary {
namespace {

constexpr int64_t kPictures = 64, kBatch = 16;

SelectiveOptions options_for(bool record) {
  SelectiveOptions options;
  options.batch = kBatch;
  options.record = record;
  options.precision = Precision::kFloat32;
  return options;
}

Selection half(torch::Device device) {
  const Tensor all = torch::arange(kPictures, at::device(device).dtype(torch::kInt64));
  return {all.remainder(10), all.narrow(0, 0, kPictures / 2), all.narrow(0, kPictures / 2, kPictures / 2)};
}

StepPlan plan_of(uint64_t step, const StepRunner& runner, const DeviceImages& images, int64_t sources, bool aligned) {
  const Random random(5, Purpose::kShuffle, {step});
  const auto positions = [&](uint64_t which) {
    return torch::tensor(random.child(which).permutation(kPictures / 2), torch::kInt64).narrow(0, 0, kBatch);
  };
  return StepPlan(positions(0), aligned ? positions(1) : Tensor(), sources, images, runner.augmentation(),
                  {random.child(2), random.child(3)}, random.child(4), random.child(5), 0.5);
}

// The losses of a few steps, those with and without unconfident pictures.
std::vector<Tensor> losses_of(torch::Device device, bool record) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  ensemble.to(device);
  const DeviceImages images(test::noise_pictures(kPictures), device);
  const SelectiveOptions options = options_for(record);
  StepRunner runner(ensemble, images, options);
  const OwnStream stream(device);
  runner.begin_round(half(device));
  std::vector<Tensor> losses;
  for (uint64_t step = 0; step < 6; ++step) losses.push_back(runner.run(plan_of(step, runner, images, 2, true)).cpu());
  for (uint64_t step = 6; step < 8; ++step) losses.push_back(runner.run(plan_of(step, runner, images, 2, false)).cpu());
  return losses;
}

TEST(StepRunner, ChangesTheSourcesAndRepeatsItself) {
  const std::vector<Tensor> one = losses_of(torch::kCPU, true), two = losses_of(torch::kCPU, true);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TENSOR_EQ(one[i], two[i]);
  EXPECT_GT(test::distance(one[0], one[5]), 0.01);
  EXPECT_EQ(one[7][4].item<float>(), 0) << "nothing to align with";
}

TEST(StepRunner, RecordedStepsAreTheEagerOnes) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setBenchmarkCuDNN(false);
  const torch::Device device(torch::kCUDA, 0);
  const std::vector<Tensor> eager = losses_of(device, false), recorded = losses_of(device, true);
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_TENSOR_NEAR(recorded[i], eager[i], 1e-3) << "step " << i;
}

TEST(StepPlan, KeepsItsPartsApart) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn", "lenet"});
  const DeviceImages images(test::noise_pictures(kPictures), torch::kCPU);
  Augmentation augmentation;
  augmentation.flip = 0.5;
  augmentation.grey = 0.5;
  const Random stream(9);
  const StepPlan plan(torch::arange(5), torch::arange(10, 13), 3, images, augmentation, {Random(1), Random(2)},
                      Random(3), stream, 0.25);
  EXPECT_TENSOR_EQ(plan.confident(), torch::arange(5));
  EXPECT_TENSOR_EQ(plan.unconfident(), torch::arange(10, 13));
  EXPECT_TENSOR_EQ(std::get<0>(plan.permutation().sort()), torch::arange(5));
  EXPECT_TENSOR_EQ(plan.confident_cut(), images.draw_cut(5, augmentation, Random(1)));
  EXPECT_TENSOR_EQ(plan.unconfident_cut(), images.draw_cut(3, augmentation, Random(2)));
  EXPECT_EQ(plan.rate_factor().item<float>(), 0.25f);
  for (int64_t j = 0; j < 3; ++j)
    EXPECT_EQ(static_cast<uint64_t>(plan.noise_key(j, StepPass::kUnconfident).item<int64_t>()),
              stream.child(static_cast<uint64_t>(j)).child(2).key());
}

}  // namespace
}  // namespace tributary

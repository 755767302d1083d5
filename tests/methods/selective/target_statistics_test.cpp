#include "tributary/methods/selective/target_statistics.h"

#include <cmath>
#include <stdexcept>

#include "tests/support/models.h"
#include "tests/support/tensors.h"

namespace tributary {
namespace {

Tensor tensor_named(const NamedTensors& state, const std::string& name) {
  for (const NamedTensor& one : state)
    if (one.name.ends_with(name)) return one.value.detach();
  throw std::logic_error("no tensor " + name);
}

TEST(TargetStatistics, BecomeThoseOfTheTargetSet) {
  Ensemble ensemble = test::small_ensemble({"dtn"});
  const DeviceImages images(test::noise_pictures(64), torch::kCPU);
  const NamedTensors before = copy_of(ensemble.state());
  adapt_batch_norm(ensemble, images, 2, 1, /*mixed_precision=*/false);
  const NamedTensors after = ensemble.state();
  // Every batch is the whole set, so that 30 updates of a tenth leave 0.9^30 of the initial statistics 0 and 1.
  const double left = std::pow(0.9, 30);
  const Tensor inputs =
      at::conv2d(views(images.rows(0, 64), ensemble.sources).front(), tensor_named(after, "conv_params.0.weight"),
                 tensor_named(after, "conv_params.0.bias"), 2, 2);
  EXPECT_TENSOR_NEAR(tensor_named(after, "conv_params.1.running_mean"), (1 - left) * inputs.mean({0, 2, 3}), 1e-4);
  const Tensor variance = inputs.transpose(0, 1).flatten(1).var(1, /*unbiased=*/true);
  EXPECT_TENSOR_NEAR(tensor_named(after, "conv_params.1.running_var"), (1 - left) * variance + left, 1e-4);
  for (size_t i = 0; i < after.size(); ++i) {
    const bool statistic =
        after[i].name.find("running_") != std::string::npos || after[i].name.find("num_batches") != std::string::npos;
    if (!statistic) {
      EXPECT_TENSOR_EQ(after[i].value.detach(), before[i].value) << after[i].name;
    }
  }
}

TEST(TargetStatistics, AreThoseOfShuffledBatchesInLargerSets) {
  const DeviceImages images(test::noise_pictures(80), torch::kCPU);
  const auto adapted = [&](uint64_t seed) {
    Ensemble ensemble = test::small_ensemble({"dtn"});
    adapt_batch_norm(ensemble, images, 2, seed, /*mixed_precision=*/false);
    return tensor_named(copy_of(ensemble.state()), "conv_params.1.running_mean");
  };
  EXPECT_GT(test::distance(adapted(1), adapted(2)), 0);
}

}  // namespace
}  // namespace tributary

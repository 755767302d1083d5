// Passes in micro-batches compared with one whole pass, and with micro-batches run by hand.
#include "tributary/model/micro_batch.h"

#include <gtest/gtest.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

struct Pass {
  Tensor features;
  std::vector<Tensor> gradients;
};

// Features of `x`, and the parameter gradients of a loss that depends on all rows at once.
Pass pass(SourceModel& model, const Tensor& x) {
  DropoutStream dropout_stream(Random(3), torch::kCPU);
  const Tensor features = model.features(x, &dropout_stream);
  const Tensor classes = model.classify(features).softmax(1).mean(0);
  (classes * classes.log()).sum().backward();
  Pass result{features.detach(), {}};
  for (NamedTensor& tensor : model.backbone_parameters()) {
    result.gradients.push_back(tensor.value.grad().clone());
    tensor.value.mutable_grad() = Tensor();
  }
  return result;
}

TEST(MicroBatch, EqualsTheWholeBatchWithoutBatchNorm) {
  const Tensor x = test::normals({10, 3, 32, 32}, 5);
  SourceModel model(test::small_info("lenet"), Random(1));
  const Pass whole = pass(model, x);
  for (const int64_t micro_batch : {9, 5, 4, 2}) {
    SourceModel same(test::small_info("lenet"), Random(1));
    set_memory(same, {Recompute::kNone, micro_batch});
    const Pass micro_batches = pass(same, x);
    EXPECT_TRUE(torch::allclose(micro_batches.features, whole.features, 1e-5, 1e-6)) << micro_batch;
    ASSERT_EQ(micro_batches.gradients.size(), whole.gradients.size());
    for (size_t i = 0; i < whole.gradients.size(); ++i)
      EXPECT_TRUE(torch::allclose(micro_batches.gradients[i], whole.gradients[i], 1e-4, 1e-7))
          << micro_batch << " " << i;
  }
}

TEST(MicroBatch, UsesItsOwnStatisticsAndUpdatesRunningStatisticsOnce) {
  const Tensor x = test::normals({6, 3, 32, 32}, 5);
  SourceModel split(test::small_info("dtn"), Random(1)), by_hand(test::small_info("dtn"), Random(1));
  set_memory(split, {Recompute::kNone, 3});
  DropoutStream dropout_stream(Random(3), torch::kCPU);
  const Tensor features = split.layered()->backbone_features(x, &dropout_stream);
  const NamedTensors after_forward = copy_of(split.state());
  features.square().sum().backward();

  DropoutStream whole(Random(3), torch::kCPU);
  std::vector<Tensor> parts;
  for (const int64_t first : {0, 3}) {
    DropoutStream rows(whole, 0, first, 6);
    parts.push_back(by_hand.layered()->network().forward(x.narrow(0, first, 3), &rows));
  }
  const Tensor expected = at::cat(parts);
  expected.square().sum().backward();
  EXPECT_TRUE(torch::equal(features, expected));
  const NamedTensors ours = split.backbone_parameters(), theirs = by_hand.backbone_parameters();
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(torch::allclose(ours[i].value.grad(), theirs[i].value.grad(), 1e-5, 1e-6)) << ours[i].name;
  const NamedTensors now = split.state(), hand = by_hand.state();
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_TRUE(torch::equal(now[i].value, after_forward[i].value)) << now[i].name << " changed in the backward pass";
    if (now[i].name.ends_with("num_batches_tracked")) continue;
    EXPECT_TRUE(torch::equal(now[i].value, hand[i].value)) << now[i].name;
  }
}

TEST(MicroBatch, EqualsTheWholeBatchInEvaluation) {
  const Tensor x = test::normals({7, 3, 32, 32}, 5);
  SourceModel model(test::small_info("dtn"), Random(1));
  torch::NoGradGuard no_grad;
  const Tensor whole = model.features(x);
  set_memory(model, {Recompute::kNone, 2});
  EXPECT_TRUE(torch::allclose(model.features(x), whole, 1e-5, 1e-6));
}

TEST(MemoryRetry, RecomputesMoreAndThenHalvesTheMicroBatchUntilItFits) {
  const PassMemory stored, waiting{Recompute::kWaiting}, all{Recompute::kAll};
  const auto micro = [](int64_t pictures) { return PassMemory{Recompute::kAll, pictures}; };
  std::vector<PassMemory> tried, reported;
  const auto attempt = [&](const PassMemory& first, const PassMemory& fits) {
    tried.clear();
    reported.clear();
    return retry_with_less_memory(
        first, 64, torch::kCPU,
        [&](const PassMemory& memory) {
          tried.push_back(memory);
          if (memory != fits) throw std::runtime_error("CUDA out of memory. Tried to allocate 2 GiB");
        },
        [&](const PassMemory& memory) { reported.push_back(memory); });
  };
  EXPECT_EQ(attempt(stored, micro(8)), micro(8));
  EXPECT_EQ(tried, (std::vector<PassMemory>{stored, waiting, all, micro(32), micro(16), micro(8)}));
  EXPECT_EQ(reported, (std::vector<PassMemory>{waiting, all, micro(32), micro(16), micro(8)}));
  EXPECT_EQ(attempt(all, micro(32)), micro(32));
  EXPECT_EQ(tried, (std::vector<PassMemory>{all, micro(32)}));
  EXPECT_THROW(attempt(stored, micro(1)), std::runtime_error);
  EXPECT_EQ(tried.back(), micro(2));
}

TEST(MemoryRetry, DoesNotRetryOtherErrors) {
  int attempts = 0;
  EXPECT_THROW(retry_with_less_memory(
                   {}, 64, torch::kCPU,
                   [&](const PassMemory&) {
                     ++attempts;
                     throw std::runtime_error("another error");
                   },
                   [](const PassMemory&) {}),
               std::runtime_error);
  EXPECT_EQ(attempts, 1);
}

}  // namespace
}  // namespace tributary

// Sharded passes give the values, gradients and running statistics of one process.
#include "tributary/model/sharded_pass.h"

#include <gtest/gtest.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"
#include "tributary/model/layered_source.h"
#include "tributary/model/sync_batch_norm.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

double distance(const Tensor& one, const Tensor& other) {
  return (one - other).abs().max().item<double>();
}

TEST(Communicator, DividesRowsIntoContiguousShards) {
  EXPECT_EQ(shard_of(10, 0, 3).begin, 0);
  EXPECT_EQ(shard_of(10, 0, 3).end, 3);
  EXPECT_EQ(shard_of(10, 1, 3).end, 6);
  EXPECT_EQ(shard_of(10, 2, 3).end, 10);
  EXPECT_EQ(shard_of(1, 0, 2).count() + shard_of(1, 1, 2).count(), 1);
}

TEST(Communicator, GathersShardsOfUnequalSize) {
  const Tensor rows = torch::arange(20, torch::kFloat32).view({10, 2});
  for (const int64_t size : {1, 2, 3, 7}) {
    test::run_ranks(size, [&](Communicator& comm) {
      const Shard shard = shard_of(10, comm);
      EXPECT_TRUE(gather_rows(comm, rows.narrow(0, shard.begin, shard.count()), 10).equal(rows)) << size;
    });
  }
}

class SyncBatchNorm : public ::testing::TestWithParam<int64_t> {};

TEST_P(SyncBatchNorm, EqualsBatchNormOfTheWholeBatch) {
  torch::manual_seed(3);
  const Tensor x = torch::randn({9, 4, 5, 3}).mul_(3).add_(2), grad_output = torch::randn({9, 4, 5, 3});
  const Tensor weight = torch::rand({4}), bias = torch::randn({4});
  const auto leaf = [](const Tensor& tensor) { return tensor.clone().requires_grad_(); };
  const Tensor whole_x = leaf(x), whole_weight = leaf(weight), whole_bias = leaf(bias);
  const Tensor mean = torch::zeros({4}), variance = torch::ones({4});
  const Tensor expected = at::batch_norm(whole_x, whole_weight, whole_bias, mean, variance, true, 0.1, 1e-5, false);
  expected.backward(grad_output);
  test::run_ranks(GetParam(), [&](Communicator& comm) {
    const Shard shard = shard_of(9, comm);
    const auto own = [&](const Tensor& all) { return all.narrow(0, shard.begin, shard.count()); };
    const Tensor own_x = leaf(own(x)), own_weight = leaf(weight), own_bias = leaf(bias);
    const Tensor own_mean = torch::zeros({4}), own_variance = torch::ones({4});
    const Tensor y = sync_batch_norm(comm, own_x, {own_weight, own_bias, own_mean, own_variance, 0.1, 1e-5});
    EXPECT_LT(distance(y, own(expected)), 1e-5);
    EXPECT_LT(distance(own_mean, mean), 1e-6);
    EXPECT_LT(distance(own_variance, variance), 1e-5);
    y.backward(own(grad_output));
    EXPECT_LT(distance(own_x.grad(), own(whole_x.grad())), 1e-5);
    Tensor grad_weight = own_weight.grad().clone(), grad_bias = own_bias.grad().clone();
    comm.all_reduce(grad_weight);
    comm.all_reduce(grad_bias);
    EXPECT_LT(distance(grad_weight, whole_weight.grad()), 1e-4);
    EXPECT_LT(distance(grad_bias, whole_bias.grad()), 1e-4);
  });
}

TEST_P(SyncBatchNorm, KeepsEarlierPassesDifferentiable) {
  test::run_ranks(GetParam(), [&](Communicator& comm) {
    BatchNorm norm(3);
    DropoutStream dropout_stream = DropoutStream::quiet(torch::kCPU);
    const Tensor before = norm(torch::randn({4, 3}), &dropout_stream);
    norm.comm = &comm;
    norm(torch::randn({4, 3}), &dropout_stream);
    EXPECT_NO_THROW(before.sum().backward());
  });
}

TEST_P(SyncBatchNorm, AcceptsUndefinedRunningStatistics) {
  test::run_ranks(GetParam(), [&](Communicator& comm) {
    const Tensor y =
        sync_batch_norm(comm, torch::ones({2, 3}), {torch::ones({3}), torch::zeros({3}), {}, {}, 0.1, 1e-5});
    EXPECT_LT(y.abs().max().item<double>(), 1e-5);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SyncBatchNorm, ::testing::Values(1, 2, 4, 7));

struct Case {
  std::string architecture;
  int64_t ranks, rows;
  Sharding::By by;
  int64_t size = 32;  // of pictures; the last BatchNorm needs more than a few values per channel
  uint64_t steps = 2;
  double tolerance = 1e-4;
};

class ShardedPass : public ::testing::TestWithParam<Case> {
 protected:
  static SourceModel source() {
    ModelInfo info = test::small_info(GetParam().architecture);
    info.bottleneck_dropout = 0.3;
    return {info, Random(5)};
  }

  struct Result {
    Tensor features;
    NamedTensors state;
  };
  static Result trained(SourceModel& model, const Tensor& x) {
    Sgd optimiser({{model.backbone_parameters(), 0.01}, {model.bottleneck_parameters(), 0.01}}, {});
    Result result;
    for (uint64_t step = 0; step < GetParam().steps; ++step) {
      DropoutStream dropout_stream(Random(11).child(step), x.device());
      result.features = model.features(x, &dropout_stream);
      const Tensor loss = at::cross_entropy_loss(model.classify(result.features), torch::arange(x.size(0)) % 10);
      optimiser.zero_gradients();
      loss.backward();
      optimiser.step(1.0);
    }
    result.state = copy_of(model.state());
    return result;
  }
};

TEST_P(ShardedPass, TrainsLikeOneProcess) {
  const auto& [architecture, ranks, rows, by, size, steps, tolerance] = GetParam();
  torch::manual_seed(1);
  const Tensor x = torch::randn({rows, 3, size, size});
  SourceModel alone = source();
  const Result expected = trained(alone, x);
  test::run_ranks(ranks, [&](Communicator& comm) {
    Ensemble ensemble;
    ensemble.sources.push_back(source());
    ensemble.shard(comm, by);
    const Result result = trained(ensemble.sources.front(), x);
    EXPECT_LT(distance(result.features, expected.features), tolerance);
    broadcast_state(comm, ensemble.sources.front().state());
    const NamedTensors state = ensemble.sources.front().state();
    for (size_t i = 0; i < state.size(); ++i)
      EXPECT_LT(distance(state[i].value.detach().to(torch::kFloat32), expected.state[i].value.to(torch::kFloat32)),
                tolerance)
          << state[i].name;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, ShardedPass,
    ::testing::Values(Case{"dtn", 2, 8, Sharding::By::kRows}, Case{"dtn", 3, 8, Sharding::By::kRows},
                      Case{"dtn", 4, 2, Sharding::By::kRows}, Case{"lenet", 4, 9, Sharding::By::kRows},
                      Case{"dtn", 3, 8, Sharding::By::kSources}, Case{"dtn", 2, 8, Sharding::By::kNothing},
                      Case{"resnet18", 2, 6, Sharding::By::kRows, 96, 1, 1e-3}));

TEST(ShardedPassTensors, RecordOwnerAndReduction) {
  test::run_ranks(2, [&](Communicator& comm) {
    Ensemble ensemble = test::small_ensemble({"lenet", "lenet", "lenet"});
    ensemble.shard(comm, Sharding::By::kSources);
    const auto owner = [&](size_t j) { return ensemble.sources[j].backbone_parameters().front().owner; };
    EXPECT_EQ(owner(0), 0);
    EXPECT_EQ(owner(1), 0);
    EXPECT_EQ(owner(2), 1);
    EXPECT_EQ(ensemble.sources[2].bottleneck_parameters().front().owner, -1);
    ensemble.shard(comm, Sharding::By::kRows);
    EXPECT_EQ(owner(2), -1);
    EXPECT_EQ(ensemble.sources[0].backbone_parameters().front().reduced_over, &comm);
    EXPECT_EQ(ensemble.sources[0].bottleneck_parameters().front().reduced_over, nullptr);
  });
}

}  // namespace
}  // namespace tributary

#include "tributary/distributed/process_group.h"

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <functional>
#include <thread>

#include "tributary/base/error.h"
#include "tributary/device/accelerator.h"
#include "tributary/distributed/backend.h"
#include "tributary/launch/address.h"

namespace tributary {
namespace {

constexpr auto kAllTypes = {torch::kFloat32, torch::kFloat64, torch::kBFloat16,
                            torch::kInt64,   torch::kUInt8,   torch::kBool};

struct Setting {
  torch::DeviceType device;
  int64_t size;
};

// Calls `work` once per rank, on threads of this process that connect like processes.
void with_ranks(const Setting& setting, const std::function<void(ProcessGroup&, torch::Device)>& work) {
  const torch::Device device = setting.device == torch::kCUDA ? torch::Device(torch::kCUDA, 0) : torch::Device("cpu");
  const int port = free_port();
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < setting.size; ++rank)
    threads.emplace_back([=] {
      RankInfo rank_info;
      rank_info.rank = rank_info.local_rank = rank;
      rank_info.size = setting.size;
      rank_info.port = port;
      try {
        ProcessGroup process_group(rank_info, device, DistributedOptions());
        EXPECT_EQ(process_group.rank(), rank);
        EXPECT_EQ(process_group.size(), setting.size);
        work(process_group, device);
        process_group.barrier();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

class ProcessGroupTest : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (GetParam().device == torch::kCUDA && !torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
    if (!can_join(torch::Device(GetParam().device))) GTEST_SKIP() << "built without the backend for this device";
  }
};
// NCCL allows one rank per GPU.
INSTANTIATE_TEST_SUITE_P(Ranks, ProcessGroupTest,
                         testing::Values(Setting{torch::kCPU, 1}, Setting{torch::kCPU, 2}, Setting{torch::kCPU, 4},
                                         Setting{torch::kCUDA, 1}),
                         [](const auto& setting) {
                           return fmt::format("Of{}On{}", setting.param.size,
                                              setting.param.device == torch::kCPU ? "Cpu" : "Gpu");
                         });

// Small integers, exact in every dtype.
Tensor numbers(int64_t rank, torch::ScalarType type, torch::Device device) {
  return (torch::arange(24).reshape({2, 3, 4}) % 5 + rank).to(device, type);
}

TEST_P(ProcessGroupTest, AllReducesEveryDtype) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    for (const torch::ScalarType type : kAllTypes) {
      Tensor expected = torch::zeros({2, 3, 4}, torch::dtype(torch::kInt64).device(device));
      for (int64_t rank = 0; rank < process_group.size(); ++rank)
        expected += numbers(rank, type, device).to(torch::kInt64);
      Tensor tensor = numbers(process_group.rank(), type, device);
      process_group.all_reduce(tensor);
      EXPECT_EQ(tensor.scalar_type(), type);
      EXPECT_TRUE(tensor.equal(expected.to(type))) << type;
    }
  });
}

TEST_P(ProcessGroupTest, BroadcastsFromAnyRank) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    for (int64_t owner = 0; owner < process_group.size(); ++owner)
      for (const torch::ScalarType type : kAllTypes) {
        Tensor tensor = numbers(process_group.rank(), type, device);
        process_group.broadcast(tensor, owner);
        EXPECT_TRUE(tensor.equal(numbers(owner, type, device))) << type;
      }
  });
}

TEST_P(ProcessGroupTest, GathersInRankOrder) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    for (const torch::ScalarType type : kAllTypes) {
      const Tensor all = process_group.all_gather(numbers(process_group.rank(), type, device));
      ASSERT_EQ(all.sizes(), at::IntArrayRef({process_group.size(), 2, 3, 4}));
      for (int64_t rank = 0; rank < process_group.size(); ++rank)
        EXPECT_TRUE(all[rank].equal(numbers(rank, type, device))) << type;
    }
    EXPECT_EQ(process_group.all_gather(torch::tensor(int64_t{7}, device)).sum().item<int64_t>(),
              7 * process_group.size());
  });
}

TEST_P(ProcessGroupTest, AcceptsAnyDenseLayout) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    const auto make = [&](int64_t rank) {
      return torch::arange(2 * 3 * 4 * 5).reshape({2, 3, 4, 5}).to(device, torch::kFloat32) + rank;
    };
    Tensor tensor = make(process_group.rank()).contiguous(at::MemoryFormat::ChannelsLast);
    process_group.broadcast(tensor, process_group.size() - 1);
    EXPECT_TRUE(tensor.equal(make(process_group.size() - 1)));
    process_group.all_reduce(tensor);
    EXPECT_TRUE(tensor.equal(make(process_group.size() - 1) * static_cast<double>(process_group.size())));
    EXPECT_TRUE(tensor.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(process_group.all_gather(tensor)[0].equal(tensor));
    // A reduction of a slice leaves the rest of the tensor unchanged.
    Tensor whole = torch::ones({4, 3}, device);
    Tensor part = whole.narrow(0, 1, 2);
    process_group.all_reduce(part);
    EXPECT_EQ(whole.sum().item<double>(), 6.0 + 6.0 * static_cast<double>(process_group.size()));
    Tensor gaps = torch::ones({4, 3}, device).narrow(1, 0, 2);
    EXPECT_THROW(process_group.all_reduce(gaps), std::logic_error);
  });
}

TEST_P(ProcessGroupTest, AllReducesAsynchronously) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    std::vector<Tensor> tensors;
    std::vector<std::unique_ptr<Communicator::Pending>> pending;
    for (int64_t i = 0; i < 20; ++i) {
      tensors.push_back(torch::full({1000 + i * 777}, i,
                                    torch::dtype(i % 2 == 0 ? torch::kFloat32 : torch::kBFloat16).device(device)));
      pending.push_back(process_group.all_reduce_async(tensors.back()));
    }
    for (const auto& one : pending) one->wait();
    for (int64_t i = 0; i < 20; ++i)
      EXPECT_TRUE(tensors[static_cast<size_t>(i)].eq(static_cast<double>(i * process_group.size())).all().item<bool>());
  });
}

TEST_P(ProcessGroupTest, ReturnsTheSameBitsOnEveryRank) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(process_group.rank()));
    Tensor tensor = torch::randn({100003}, generator, torch::kFloat32).to(device);
    process_group.all_reduce(tensor);
    const Tensor all = process_group.all_gather(tensor);
    for (int64_t rank = 0; rank < process_group.size(); ++rank) EXPECT_TRUE(all[rank].equal(tensor));
  });
}

TEST_P(ProcessGroupTest, AcceptsEmptyTensors) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    Tensor empty = torch::empty({0, 3}, device);
    process_group.all_reduce(empty);
    process_group.broadcast(empty, 0);
    EXPECT_EQ(process_group.all_gather(empty).sizes(), at::IntArrayRef({process_group.size(), 0, 3}));
  });
}

TEST_P(ProcessGroupTest, GathersShardsOfRows) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    const Tensor rows = torch::arange(7 * 2, device).reshape({7, 2});
    const Shard shard = shard_of(7, process_group);
    EXPECT_TRUE(gather_rows(process_group, rows.slice(0, shard.begin, shard.end), 7).equal(rows));
  });
}

TEST_P(ProcessGroupTest, AcceptsHostTensors) {
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device) {
    const torch::Device host(torch::kCPU);
    for (const torch::ScalarType type : kAllTypes) {
      Tensor tensor = numbers(1, type, host);
      process_group.broadcast(tensor, 0);
      EXPECT_TRUE(process_group.all_gather(tensor)[process_group.size() - 1].equal(numbers(1, type, host)));
      process_group.all_reduce(tensor);
      EXPECT_TRUE(
          tensor.to(torch::kInt64)
              .equal((numbers(1, type, host).to(torch::kInt64) * process_group.size()).to(type).to(torch::kInt64)));
    }
  });
}

TEST_P(ProcessGroupTest, CanBeCapturedInACudaGraph) {
  if (!CudaGraph::possible(torch::Device(GetParam().device))) GTEST_SKIP() << "no CUDA graphs on this device";
  with_ranks(GetParam(), [](ProcessGroup& process_group, torch::Device device) {
    const OwnStream stream(device);
    Tensor tensor = torch::ones({1000}, device), other = torch::ones({1000}, device), all;
    const auto work = [&] {
      const auto pending = process_group.all_reduce_async(other);
      process_group.all_reduce(tensor);
      tensor.add_(1);
      pending->wait();
      all = process_group.all_gather(tensor + other);
    };
    work();
    CudaGraph graph;
    graph.capture(work);
    for (int i = 0; i < 3; ++i) graph.replay();
    EXPECT_EQ(tensor.sum().item<double>(), 5 * 1000);
    EXPECT_EQ(all.sum().item<double>(), 6 * 1000);
  });
}

TEST(Store, HidesItsEntriesFromStrangers) {
  constexpr std::chrono::seconds kTimeout(20);
  RankInfo first;
  first.size = 2;
  first.port = free_port();
  first.secret = "3f";
  const auto store = open_store(first, kTimeout);
  const auto bytes = [](const std::string& text) { return std::vector<uint8_t>(text.begin(), text.end()); };
  store->set("key", bytes("value"));
  RankInfo second = first;
  second.rank = 1;
  EXPECT_TRUE(connect_store(second, kTimeout)->check({"key"}));
  for (const char* secret : {"", "40"}) {
    second.secret = secret;
    const auto strange = connect_store(second, kTimeout);
    EXPECT_FALSE(strange->check({"key"})) << secret;
    strange->set("key", bytes("forged"));
  }
  EXPECT_EQ(store->get("key"), bytes("value"));
}

TEST(DistributedOptions, AreNotPartOfTheRunConfiguration) {
  OptionTable table;
  DistributedOptions options;
  declare(table, options);
  EXPECT_EQ(table.to_toml().find("rank_"), std::string::npos);
  EXPECT_NE(table.to_markdown().find("--heartbeat-timeout"), std::string::npos);
}

}  // namespace
}  // namespace tributary

#include "tributary/scale/world.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tributary/base/error.h"
#include "tributary/scale/sockets.h"

namespace tributary {
namespace {

constexpr auto kAllTypes = {torch::kFloat32, torch::kFloat64, torch::kBFloat16,
                            torch::kInt64,   torch::kUInt8,   torch::kBool};

// Calls `work` once for each of `size` ranks, on threads of this process that meet as processes would.
void with_ranks(int64_t size, const std::function<void(World&)>& work) {
  const int port = listen_at("127.0.0.1").port;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([=] {
      Place place;
      place.rank = place.local_rank = rank;
      place.size = size;
      place.port = port;
      try {
        World world(place, torch::Device(torch::kCPU), ScaleOptions());
        EXPECT_EQ(world.rank(), rank);
        EXPECT_EQ(world.size(), size);
        work(world);
        world.meet();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

class WorldTest : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(World, WorldTest, testing::Values(1, 2, 4),
                         [](const auto& size) { return fmt::format("Of{}", size.param); });

// Small whole numbers, exact in every type.
Tensor numbers(int64_t rank, torch::ScalarType type) {
  return (torch::arange(24).reshape({2, 3, 4}) % 5 + rank).to(type);
}

TEST_P(WorldTest, SumsEveryType) {
  with_ranks(GetParam(), [](World& world) {
    for (const torch::ScalarType type : kAllTypes) {
      Tensor wanted = torch::zeros({2, 3, 4}, torch::kInt64);
      for (int64_t rank = 0; rank < world.size(); ++rank) wanted += numbers(rank, type).to(torch::kInt64);
      Tensor tensor = numbers(world.rank(), type);
      world.sum(tensor);
      EXPECT_EQ(tensor.scalar_type(), type);
      EXPECT_TRUE(tensor.equal(wanted.to(type))) << type;
    }
  });
}

TEST_P(WorldTest, BroadcastsFromAnyRank) {
  with_ranks(GetParam(), [](World& world) {
    for (int64_t owner = 0; owner < world.size(); ++owner)
      for (const torch::ScalarType type : kAllTypes) {
        Tensor tensor = numbers(world.rank(), type);
        world.broadcast(tensor, owner);
        EXPECT_TRUE(tensor.equal(numbers(owner, type))) << type;
      }
  });
}

TEST_P(WorldTest, GathersInTheOrderOfTheRanks) {
  with_ranks(GetParam(), [](World& world) {
    for (const torch::ScalarType type : kAllTypes) {
      const Tensor all = world.gather(numbers(world.rank(), type));
      ASSERT_EQ(all.sizes(), at::IntArrayRef({world.size(), 2, 3, 4}));
      for (int64_t rank = 0; rank < world.size(); ++rank) EXPECT_TRUE(all[rank].equal(numbers(rank, type))) << type;
    }
    EXPECT_EQ(world.gather(torch::tensor(int64_t{7})).sum().item<int64_t>(), 7 * world.size());
  });
}

TEST_P(WorldTest, TakesTensorsOfAnyLayoutWithoutGaps) {
  with_ranks(GetParam(), [](World& world) {
    const auto made = [](int64_t rank) {
      return torch::arange(2 * 3 * 4 * 5).reshape({2, 3, 4, 5}).to(torch::kFloat32) + rank;
    };
    Tensor tensor = made(world.rank()).contiguous(at::MemoryFormat::ChannelsLast);
    world.broadcast(tensor, world.size() - 1);
    EXPECT_TRUE(tensor.equal(made(world.size() - 1)));
    world.sum(tensor);
    EXPECT_TRUE(tensor.equal(made(world.size() - 1) * static_cast<double>(world.size())));
    EXPECT_TRUE(tensor.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(world.gather(tensor)[0].equal(tensor));
    // A part of a larger tensor leaves the rest alone.
    Tensor whole = torch::ones({4, 3});
    Tensor part = whole.narrow(0, 1, 2);
    world.sum(part);
    EXPECT_EQ(whole.sum().item<double>(), 6.0 + 6.0 * static_cast<double>(world.size()));
    Tensor gaps = torch::ones({4, 3}).narrow(1, 0, 2);
    EXPECT_THROW(world.sum(gaps), std::logic_error);
  });
}

TEST_P(WorldTest, SumsInTheBackground) {
  with_ranks(GetParam(), [](World& world) {
    std::vector<Tensor> tensors;
    std::vector<std::unique_ptr<Ranks::Pending>> pending;
    for (int64_t i = 0; i < 20; ++i) {
      tensors.push_back(torch::full({1000 + i * 777}, i, i % 2 == 0 ? torch::kFloat32 : torch::kBFloat16));
      pending.push_back(world.begin_sum(tensors.back()));
    }
    for (const auto& one : pending) one->wait();
    for (int64_t i = 0; i < 20; ++i)
      EXPECT_TRUE(tensors[static_cast<size_t>(i)].eq(static_cast<double>(i * world.size())).all().item<bool>());
  });
}

TEST_P(WorldTest, GivesTheSameBitsToEveryRank) {
  with_ranks(GetParam(), [](World& world) {
    auto chance = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(world.rank()));
    Tensor tensor = torch::randn({100003}, chance, torch::kFloat32);
    world.sum(tensor);
    const Tensor all = world.gather(tensor);
    for (int64_t rank = 0; rank < world.size(); ++rank) EXPECT_TRUE(all[rank].equal(tensor));
  });
}

TEST_P(WorldTest, HasNothingToDoForEmptyTensors) {
  with_ranks(GetParam(), [](World& world) {
    Tensor nothing = torch::empty({0, 3});
    world.sum(nothing);
    world.broadcast(nothing, 0);
    EXPECT_EQ(world.gather(nothing).sizes(), at::IntArrayRef({world.size(), 0, 3}));
  });
}

TEST_P(WorldTest, SharesRows) {
  with_ranks(GetParam(), [](World& world) {
    const Tensor rows = torch::arange(7 * 2).reshape({7, 2});
    const Share share = share_of(7, world);
    EXPECT_TRUE(gather_rows(world, rows.slice(0, share.begin, share.end), 7).equal(rows));
  });
}

TEST(ScaleOptions, AreNoPartOfARun) {
  OptionTable table;
  ScaleOptions options;
  declare(table, options);
  EXPECT_EQ(table.to_toml().find("rank_"), std::string::npos);
  EXPECT_NE(table.to_markdown().find("--rank-patience"), std::string::npos);
}

}  // namespace
}  // namespace tributary

// Rows that are divided over ranks: sums, means, gathered and selected rows.
#include "tributary/comm/row_block.h"

#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"

namespace tributary {
namespace {

// Calls `work` with this rank's block of `total` rows, on 1 to 4 ranks.
void on_ranks(int64_t total, const std::function<void(const RowBlock&)>& work) {
  for (int64_t size = 1; size <= 4; ++size)
    test::run_ranks(size, [&](Communicator& comm) { work(RowBlock(&comm, total)); });
}

TEST(RowBlock, OneProcessKeepsAllRows) {
  const RowBlock rows;
  const Tensor values = torch::arange(6, torch::kFloat32).view({3, 2});
  EXPECT_FALSE(rows.divided());
  EXPECT_EQ(rows.total(3), 3);
  EXPECT_EQ(rows.shard(3).begin, 0);
  EXPECT_EQ(rows.shard(3).end, 3);
  EXPECT_TENSOR_EQ(rows.sum(values), values);
  EXPECT_TENSOR_EQ(rows.mean(values), torch::tensor({2.f, 3.f}));
  EXPECT_TENSOR_EQ(rows.gather(values), values);
  EXPECT_TENSOR_EQ(rows.own(values), values);
  EXPECT_TENSOR_EQ(rows.select(values, test::indices({2, 0})), torch::tensor({4.f, 5.f, 0.f, 1.f}).view({2, 2}));
}

TEST(RowBlock, OneRankDividesNothing) {
  test::run_ranks(1, [](Communicator& comm) { EXPECT_FALSE(RowBlock(&comm, 5).divided()); });
}

TEST(RowBlock, RanksKeepConsecutiveRows) {
  test::run_ranks(3, [](Communicator& comm) {
    const RowBlock rows(&comm, 7);
    const std::vector<Shard> wanted = {{0, 2}, {2, 4}, {4, 7}};
    const Shard own = rows.shard(7), expected = wanted[static_cast<size_t>(comm.rank())];
    EXPECT_EQ(own.begin, expected.begin);
    EXPECT_EQ(own.end, expected.end);
    EXPECT_EQ(rows.begin(), expected.begin);
    EXPECT_EQ(rows.total(own.count()), 7);
    EXPECT_TENSOR_EQ(rows.own(torch::arange(7)), torch::arange(expected.begin, expected.end));
  });
}

TEST(RowBlock, MeansAndSumsAreOverAllRows) {
  const Tensor values = torch::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 9.f, 6.f, 8.f, 10.f, 2.f}).view({5, 2});
  on_ranks(5, [&](const RowBlock& rows) {
    const Tensor own = rows.own(values);
    EXPECT_TENSOR_NEAR(rows.mean(own), torch::tensor({5.f, 5.f}), 1e-6);
    EXPECT_TENSOR_NEAR(rows.mean(own.select(1, 0)), torch::tensor(5.f), 1e-6);
    EXPECT_TENSOR_EQ(rows.sum(own.sum(0)), torch::tensor({25.f, 25.f}));
    EXPECT_EQ(rows.sum(own.size(0)), 5);
    EXPECT_TENSOR_EQ(rows.sum((own > 4).sum(0)), test::indices({3, 2}));
  });
}

TEST(RowBlock, GathersAlongAnyDimension) {
  const Tensor values = torch::arange(14).view({7, 2});
  on_ranks(7, [&](const RowBlock& rows) {
    EXPECT_TENSOR_EQ(rows.gather(rows.own(values)), values);
    EXPECT_TENSOR_EQ(rows.gather(rows.own(values.t(), 1), 1), values.t());
  });
}

TEST(RowBlock, SelectsRowsOfOtherRanks) {
  const Tensor values = torch::arange(18, torch::kFloat32).view({9, 2}), index = test::indices({8, 0, 3, 3});
  on_ranks(9, [&](const RowBlock& rows) {
    EXPECT_TENSOR_EQ(rows.select(rows.own(values), index), values.index_select(0, index));
  });
}

TEST(RowBlock, FewerRowsThanRanks) {
  const Tensor values = torch::tensor({3.f, 5.f});
  on_ranks(2, [&](const RowBlock& rows) {
    const Tensor own = rows.own(values);
    EXPECT_TENSOR_EQ(rows.gather(own), values);
    EXPECT_TENSOR_EQ(rows.mean(own), torch::tensor(4.f));
    EXPECT_TENSOR_EQ(rows.select(own, test::indices({1, 0})), torch::tensor({5.f, 3.f}));
  });
}

}  // namespace
}  // namespace tributary

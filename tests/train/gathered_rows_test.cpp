// Rows of all ranks on the first one, and back.
#include "tributary/train/gathered_rows.h"

#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"

namespace tributary {
namespace {

TEST(GatheredRows, AreWholeOnTheFirstRankOnly) {
  // More numbers than are sent at once.
  const Tensor whole = torch::arange(int64_t{3} * 3'000'001, torch::kFloat32).view({3'000'001, 3});
  test::run_ranks(3, [&](Communicator& comm) {
    const RowBlock rows(&comm, whole.size(0));
    const Tensor all = rows_on_first(rows.own(whole), rows);
    EXPECT_EQ(all.defined(), comm.first());
    if (comm.first()) {
      EXPECT_TRUE(torch::equal(all, whole));
    }
    EXPECT_TRUE(torch::equal(own_rows_from_first(all, 3, rows), rows.own(whole)));
  });
}

TEST(GatheredRows, OfFewerRowsThanRanks) {
  const Tensor whole = test::normals({2, 4}, 1);
  test::run_ranks(4, [&](Communicator& comm) {
    const RowBlock rows(&comm, 2);
    const Tensor all = rows_on_first(rows.own(whole), rows);
    if (comm.first()) {
      EXPECT_TENSOR_EQ(all, whole);
    }
    EXPECT_TENSOR_EQ(own_rows_from_first(all, 4, rows), rows.own(whole));
  });
}

TEST(GatheredRows, OneProcessHasThemAll) {
  const Tensor whole = test::normals({5, 2}, 1);
  EXPECT_TRUE(rows_on_first(whole, {}).is_same(whole));
  EXPECT_TRUE(own_rows_from_first(whole, 2, {}).is_same(whole));
}

}  // namespace
}  // namespace tributary

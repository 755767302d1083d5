// The search of the highest values over ranks.
#include "tributary/comm/highest_rows.h"

#include <cmath>
#include <numeric>

#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"
#include "tributary/base/random.h"

namespace tributary {
namespace {

void expect_highest(const Tensor& value, int64_t count, const Tensor& wanted) {
  EXPECT_TENSOR_EQ(highest_rows(value, count, {}), wanted);
  for (int64_t size = 1; size <= 4; ++size)
    test::run_ranks(size, [&](Communicator& comm) {
      const RowBlock rows(&comm, value.size(0));
      EXPECT_TENSOR_EQ(highest_rows(rows.own(value), count, rows), wanted);
    });
}

// Values of which many are equal.
Tensor coarse_values(int64_t count) {
  Random random(3);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::round(static_cast<float>(20 * random.normal())) / 16);
  return torch::tensor(values);
}

TEST(HighestRows, AreSortedByValueThenNumber) {
  expect_highest(torch::tensor({.5f, .9f, .1f, .9f, .5f, .7f}), 4, test::indices({1, 3, 5, 0}));
}

TEST(HighestRows, TiesGoToTheFirstRows) {
  expect_highest(torch::full({1000}, 0.25f), 301, torch::arange(301));
}

TEST(HighestRows, NegativeValuesAndZerosKeepTheirOrder) {
  expect_highest(torch::tensor({-1.f, 0.f, -0.f, -2.f, 1e-30f, -1e30f}), 5, test::indices({4, 1, 2, 0, 3}));
  expect_highest(torch::tensor({1.f, NAN, INFINITY, -INFINITY}), 3, test::indices({1, 2, 0}));
}

TEST(HighestRows, NoneAndAll) {
  const Tensor value = torch::tensor({2.f, 1.f, 3.f});
  expect_highest(value, 0, torch::empty({0}, torch::kInt64));
  expect_highest(value, 3, test::indices({2, 0, 1}));
}

TEST(HighestRows, EqualAStableSort) {
  const Tensor value = coarse_values(5000);
  const Tensor order = std::get<1>(value.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  for (const int64_t count : {1, 77, 2500, 4999}) expect_highest(value, count, order.narrow(0, 0, count));
}

TEST(HighestRows, OfEveryGroup) {
  const Tensor value = torch::tensor({.9f, .8f, .7f, .6f, .5f, .4f, .8f});
  const Tensor group = test::indices({0, 0, 1, 1, 2, 0, 1});
  // Group 0 gives rows 0 and 1, group 1 row 6, group 2 none.
  test::run_ranks(3, [&](Communicator& comm) {
    const RowBlock rows(&comm, 7);
    EXPECT_TENSOR_EQ(highest_rows(rows.own(value), rows.own(group), {2, 1, 0}, rows), test::indices({0, 1, 6}));
  });
  EXPECT_TENSOR_EQ(highest_rows(value, group, {2, 1, 0}, {}), test::indices({0, 1, 6}));
}

}  // namespace
}  // namespace tributary

#include "tributary/base/read_ahead.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tributary/base/memory.h"

namespace tributary {
namespace {

TEST(ReadAhead, GivesItemsInOrderAndMakesNoneTooMany) {
  for (const bool ahead : {false, true}) {
    int made = 0;
    ReadAhead<int> items(5, ahead, [&] { return made++; });
    std::vector<int> got;
    while (!items.done()) got.push_back(items.next());
    EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4}));
    EXPECT_EQ(made, 5);
  }
}

TEST(ReadAhead, FailsWhenTheItemIsAskedFor) {
  int made = 0;
  ReadAhead<int> items(3, true, [&] {
    if (made == 1) throw std::runtime_error("the second");
    return made++;
  });
  EXPECT_EQ(items.next(), 0);
  EXPECT_THROW(items.next(), std::runtime_error);
}

TEST(Memory, IsThereAndGrowsWithUse) {
  EXPECT_GT(available_memory(), 1 << 20);
  const int64_t before = peak_memory();
  const std::vector<char> block(256 << 20, 1);
  EXPECT_GE(peak_memory() + (8 << 20), before + static_cast<int64_t>(block.size() / 2));
  EXPECT_GT(before, 1 << 20);
}

}  // namespace
}  // namespace tributary

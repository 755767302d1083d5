#include "tributary/base/read_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <vector>

#include "tributary/base/memory.h"

namespace tributary {
namespace {

TEST(ReadAhead, YieldsEveryItemInOrder) {
  for (const bool ahead : {false, true}) {
    int made = 0;
    ReadAhead<int> items(5, ahead, [&] { return made++; });
    std::vector<int> got;
    while (!items.done()) got.push_back(items.next());
    EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4}));
    EXPECT_EQ(made, 5);
  }
}

TEST(ReadAhead, RethrowsInNext) {
  int made = 0;
  ReadAhead<int> items(3, true, [&] {
    if (made == 1) throw std::runtime_error("the second");
    return made++;
  });
  EXPECT_EQ(items.next(), 0);
  EXPECT_THROW(items.next(), std::runtime_error);
}

// A manual clock that signals a latch when it is read.
struct TestClock {
  using duration = std::chrono::seconds;
  using time_point = std::chrono::time_point<TestClock>;
  static time_point now() {
    if (std::latch* latch = on_read.exchange(nullptr)) latch->count_down();
    return time_point(duration(seconds.load()));
  }
  static inline std::atomic<int> seconds{0};
  static inline std::atomic<std::latch*> on_read{nullptr};
};

TEST(ReadAhead, CountsOnlyTheTimeThatNextBlocked) {
  std::latch second_made(1), third_requested(1);
  int made = 0;
  ReadAhead<int, TestClock> items(3, true, [&] {
    if (made == 2) third_requested.wait();
    TestClock::seconds += made == 0 ? 3 : made == 1 ? 20 : 400;
    if (made == 1) second_made.count_down();
    return made++;
  });
  EXPECT_EQ(items.waited(), 0);
  items.next();
  EXPECT_EQ(items.waited(), 3) << "the first item is never made ahead";
  second_made.wait();
  items.next();
  EXPECT_EQ(items.waited(), 3) << "the second item was ready";
  TestClock::on_read = &third_requested;
  items.next();
  EXPECT_EQ(items.waited(), 403) << "the third item was not ready";
}

TEST(Memory, PeakGrowsWithUse) {
  EXPECT_GT(available_memory(), 1 << 20);
  const int64_t before = peak_memory();
  const std::vector<char> block(256 << 20, 1);
  EXPECT_GE(peak_memory() + (8 << 20), before + static_cast<int64_t>(block.size() / 2));
  EXPECT_GT(before, 1 << 20);
}

}  // namespace
}  // namespace tributary

#include "tributary/base/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

TEST(ParallelFor, RunsEveryIterationOnce) {
  for (const int64_t count : {0, 1, 2, 3, 7, 64, 1000, 100'003}) {
    for (const int threads : {-1, 0, 1, 2, 3, 16}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      parallel_for(count, threads, [&calls](int64_t index) { ++calls[static_cast<size_t>(index)]; });
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(calls[static_cast<size_t>(i)], 1) << "iteration " << i << " of " << count << " on " << threads;
    }
  }
}

TEST(ParallelFor, RunsNothingForANegativeCount) {
  parallel_for(-5, 4, [](int64_t) { FAIL(); });
}

TEST(ParallelFor, IsInOrderOnOneThread) {
  std::vector<int64_t> order;
  parallel_for(5, 1, [&order](int64_t index) { order.push_back(index); });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(ParallelFor, RunsIterationsConcurrently) {
  // Each of two iterations waits for the other to start: on one thread this would hang.
  std::atomic<int> started{0};
  parallel_for(2, 2, [&started](int64_t) {
    ++started;
    while (started < 2) std::this_thread::yield();
  });
  EXPECT_EQ(started, 2);
}

TEST(ParallelFor, UsesNoMoreThreadsThanIterations) {
  std::atomic<int> at_once{0}, most{0};
  parallel_for(3, 64, [&](int64_t) {
    const int now = ++at_once;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --at_once;
  });
  EXPECT_LE(most, 3);
}

TEST(ParallelFor, RethrowsExceptions) {
  for (const int threads : {1, 2, 8}) {
    try {
      parallel_for(1000, threads, [](int64_t index) {
        if (index == 500) throw std::runtime_error("iteration 500");
      });
      FAIL() << "nothing was thrown on " << threads << " threads";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::string("iteration 500"));
    }
  }
}

TEST(ParallelFor, ThrowsOneErrorIfEveryIterationFails) {
  EXPECT_THROW(parallel_for(1000, 8, [](int64_t index) { throw std::out_of_range(std::to_string(index)); }),
               std::out_of_range);
}

TEST(ParallelFor, StartsNoNewChunkAfterAnError) {
  std::atomic<int64_t> calls{0};
  EXPECT_THROW(parallel_for(1'000'000, 2,
                            [&calls](int64_t) {
                              ++calls;
                              throw std::runtime_error("at once");
                            }),
               std::runtime_error);
  EXPECT_LE(calls, 2);
}

TEST(ParallelFor, CanBeNested) {
  std::atomic<int> calls{0};
  parallel_for(4, 2, [&calls](int64_t) { parallel_for(5, 2, [&calls](int64_t) { ++calls; }); });
  EXPECT_EQ(calls, 20);
}

TEST(HardwareThreads, AreThoseOfTheAffinityMask) {
  std::thread([] {  // the mask belongs to a thread
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all)) ++cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cpus(), 1);
  }).join();
}

TEST(HardwareThreads, AreNoMoreThanTheQuota) {
  EXPECT_EQ(cpus_of_quota("200000 100000"), 2);
  EXPECT_EQ(cpus_of_quota("150000 100000"), 2);
  EXPECT_EQ(cpus_of_quota("50000 100000"), 1);
  EXPECT_EQ(cpus_of_quota("max 100000"), 0);
  EXPECT_EQ(cpus_of_quota("-1 100000"), 0) << "version 1 without a limit";
  EXPECT_EQ(cpus_of_quota(""), 0);
}

TEST(RequireThreads, RefusesMoreThanTheSystemStarts) {
  EXPECT_NO_THROW(require_threads(4));
  pthread_attr_t usual, vast;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&vast), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&vast, size_t{32} << 40), 0);  // the address space holds few of them
  ASSERT_EQ(pthread_setattr_default_np(&vast), 0);
  const std::string message = test::message_of<InputError>([] { require_threads(64); });
  pthread_setattr_default_np(&usual);
  EXPECT_NE(message.find("--threads 64: only "), std::string::npos) << message;
}

TEST(HardwareThreads, AreAtLeastOne) {
  EXPECT_GE(hardware_threads(), 1);
}

}  // namespace
}  // namespace tributary

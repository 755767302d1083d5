// Process groups that lose a rank, and exit codes of launched ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/support/forked.h"
#include "tributary/base/error.h"
#include "tributary/base/process.h"
#include "tributary/base/stopwatch.h"
#include "tributary/distributed/process_group.h"
#include "tributary/launch/address.h"

namespace tributary {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr int kTimeoutSeconds = 2;

class LostRank : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_join(torch::Device(torch::kCPU))) GTEST_SKIP() << "built without Gloo";
  }
};
using LaunchedRanks = LostRank;

using Processes = std::vector<std::unique_ptr<test::Forked>>;

Processes start_ranks(int size, const char* what) {
  const std::string port = std::to_string(free_port());
  Processes processes;
  for (int rank = 0; rank < size; ++rank)
    processes.push_back(std::make_unique<test::Forked>([=](const std::function<void()>&) {
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
      setenv("MASTER_PORT", port.c_str(), 1);
      setenv("PATIENCE", std::to_string(kTimeoutSeconds).c_str(), 1);
      execl(TRIBUTARY_RANK_PROGRAM, "rank_program", what, static_cast<char*>(nullptr));
      return 127;
    }));
  return processes;
}

void expect_loss(size_t lost, int signal) {
  const Processes ranks = start_ranks(3, "sums");
  for (const auto& rank : ranks) ASSERT_TRUE(rank->wait_until_ready());
  const Stopwatch clock;
  ranks[lost]->signal(signal);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank == lost) continue;
    EXPECT_EQ(ranks[rank]->finish(), kWorkError);
    if (rank > (lost == 0 ? 1u : 0u)) continue;  // quiet
    const testing::Matcher<std::string> named = HasSubstr(fmt::format("rank {} on ", lost));
    // A rank that stops in a request to rank 0 cannot be named.
    EXPECT_THAT(ranks[rank]->err(),
                signal == SIGKILL ? named : AnyOf(named, HasSubstr("a rank hangs in a request to rank 0")));
    EXPECT_THAT(ranks[rank]->err(), HasSubstr("; try again\n"));
  }
  EXPECT_LT(clock.seconds(), kTimeoutSeconds + 10);
}

TEST_F(LostRank, IsNamedWhenKilled) {
  for (const size_t lost : {0u, 1u, 2u}) expect_loss(lost, SIGKILL);
}

TEST_F(LostRank, IsNamedWhenStopped) {
  for (const size_t lost : {0u, 1u}) expect_loss(lost, SIGSTOP);
}

TEST_F(LaunchedRanks, CollectiveTimesOutIfALiveRankDoesNotJoin) {
  setenv("TIMEOUT", "1", 1);
  setenv("PATIENCE", "1", 1);
  const Finished finished = run_process({TRIBUTARY_RANK_PROGRAM, "--processes", "2", "idle", "1"});
  unsetenv("TIMEOUT");
  unsetenv("PATIENCE");
  EXPECT_EQ(finished.code, 3);
  EXPECT_THAT(finished.err, HasSubstr("rank_program: a collective operation failed: "));
}

TEST_F(LaunchedRanks, Succeed) {
  for (const std::string processes : {"1", "3"}) {
    const Finished finished = run_process({TRIBUTARY_RANK_PROGRAM, "--processes", processes, "sum"});
    EXPECT_EQ(finished.code, 0);
    EXPECT_EQ(finished.out, "r");
    EXPECT_EQ(finished.err, "");
  }
}

TEST_F(LaunchedRanks, ExitWithTheCodeOfTheFailedRank) {
  for (const std::string rank : {"0", "1"}) {
    const Stopwatch clock;
    const Finished finished = run_process({TRIBUTARY_RANK_PROGRAM, "--processes", "3", "fail", rank});
    EXPECT_EQ(finished.code, 3);
    EXPECT_THAT(finished.err, HasSubstr("rank_program: a failure of its own\n"));
    EXPECT_LT(clock.seconds(), 20);
  }
}

}  // namespace
}  // namespace tributary

#include "tributary/distributed/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "tests/support/forked.h"
#include "tributary/base/stopwatch.h"
#include "tributary/distributed/backend.h"
#include "tributary/launch/address.h"

namespace tributary {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using Work = std::function<int(Heartbeat&, int64_t rank, const std::function<void()>& ready)>;

constexpr double kHeartbeatTimeout = 2;
constexpr const char* kUnknownRank = "a rank hangs in a request to rank 0";

// Processes that exchange heartbeats.
class Team {
 public:
  Team(
      int64_t size, const Work& work,
      const std::function<double(int64_t rank)>& patience = [](int64_t) { return kHeartbeatTimeout; }) {
    const int port = port_ = free_port();
    for (int64_t rank = 0; rank < size; ++rank)
      ranks_.push_back(std::make_unique<test::Forked>([=](const std::function<void()>& ready) {
        RankInfo rank_info;
        rank_info.rank = rank;
        rank_info.size = size;
        rank_info.port = port;
        constexpr auto kTimeout = std::chrono::seconds(60);
        const auto store = open_store(rank_info, kTimeout);
        Heartbeat heartbeat(rank_info, patience(rank), connect_store(rank_info, kTimeout));
        heartbeat.advise("try again");
        // Wait for the first heartbeat of every rank.
        for (int64_t other = 0; other < size; ++other)
          store->wait({fmt::format("tributary/alive/{}", other)}, kTimeout);
        return work(heartbeat, rank, ready);
      }));
  }

  int port() const { return port_; }
  test::Forked& operator[](size_t rank) { return *ranks_[rank]; }
  void wait_until_ready() {
    for (const auto& rank : ranks_) ASSERT_TRUE(rank->wait_until_ready());
  }
  // All ranks but `lost` exit within `seconds`, and the lowest of them prints the message.
  void expect_exit_naming(size_t lost, const testing::Matcher<std::string>& message, double seconds) {
    const Stopwatch clock;
    const size_t speaker = lost == 0 ? 1 : 0;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (rank == lost) continue;
      EXPECT_EQ(ranks_[rank]->finish(), kWorkError);
      const std::string& printed = ranks_[rank]->err();
      if (rank == speaker) {
        EXPECT_THAT(printed, message);
      }
      // LibTorch may have printed more.
      EXPECT_EQ(printed.find("tributary: ") != std::string::npos, rank == speaker) << printed;
    }
    EXPECT_LT(clock.seconds(), seconds);
  }

 private:
  int port_;
  std::vector<std::unique_ptr<test::Forked>> ranks_;
};

// A main thread that is blocked.
int blocked(Heartbeat&, int64_t, const std::function<void()>& ready) {
  ready();
  for (;;) pause();
}

TEST(Heartbeat, OtherRanksExitWhenOneIsKilled) {
  for (const size_t lost : {0u, 1u, 2u}) {
    Team team(3, blocked);
    team.wait_until_ready();
    team[lost].signal(SIGKILL);
    team.expect_exit_naming(lost, HasSubstr(fmt::format("rank {} on ", lost)), 10);
    EXPECT_THAT(team[lost == 0 ? 1 : 0].err(), HasSubstr("; try again\n"));
  }
}

TEST(Heartbeat, OtherRanksExitWhenOneIsStopped) {
  for (const size_t lost : {0u, 1u}) {
    Team team(3, blocked);
    team.wait_until_ready();
    team[lost].signal(SIGSTOP);
    team.expect_exit_naming(lost, AnyOf(HasSubstr(fmt::format("rank {} on ", lost)), HasSubstr(kUnknownRank)),
                            kHeartbeatTimeout + 10);
    // Once continued, the stopped rank finds itself alone.
    team[lost].signal(SIGCONT);
    EXPECT_EQ(team[lost].finish(), kWorkError);
  }
}

TEST(Heartbeat, RanksExitWhenOneHangsMidRequest) {
#if TORCH_VERSION_MAJOR >= 2
  GTEST_SKIP() << "the store of this LibTorch serves other requests meanwhile";
#endif
  Team team(2, blocked);
  team.wait_until_ready();
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in store = {};
  store.sin_family = AF_INET;
  store.sin_port = htons(static_cast<uint16_t>(team.port()));
  store.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(connection, reinterpret_cast<const sockaddr*>(&store), sizeof store), 0);
  ASSERT_EQ(write(connection, "", 1), 1) << "half a request: set, without key and value";
  EXPECT_EQ(team[0].finish(), kWorkError);
  EXPECT_THAT(team[0].err(), HasSubstr(kUnknownRank));
  EXPECT_EQ(team[1].finish(), kWorkError);
  EXPECT_THAT(team[1].err(), HasSubstr("rank 0 on "));
  close(connection);
}

TEST(Heartbeat, CheckThrowsInTheMainThread) {
  Team team(2, [](Heartbeat& heartbeat, int64_t, const std::function<void()>& ready) {
    ready();
    try {
      heartbeat.check(600);
    } catch (const LostPeer& lost) {
      if (!lost.quiet()) fmt::print(stderr, "tributary: reported: {}\n", lost.what());
      return static_cast<int>(kWorkError);
    }
    return 0;
  });
  team.wait_until_ready();
  team[1].signal(SIGKILL);
  team.expect_exit_naming(1, HasSubstr("reported: rank 1 on "), 10);
}

TEST(Heartbeat, ForwardsTheErrorOfAFailedRank) {
  for (const int64_t failed : {1, 2}) {
    std::array<int, 2> go{};
    ASSERT_EQ(pipe(go.data()), 0);
    Team team(3, [=](Heartbeat& heartbeat, int64_t rank, const std::function<void()>& ready) {
      if (rank != failed) return blocked(heartbeat, rank, ready);
      ready();
      char letter = 0;
      if (read(go[0], &letter, 1) != 1) return 9;
      heartbeat.fail("no space left on disk\nand more");
      return 3;
    });
    team.wait_until_ready();
    ASSERT_EQ(write(go[1], "g", 1), 1);
    EXPECT_EQ(team[static_cast<size_t>(failed)].finish(), 3);
    team.expect_exit_naming(static_cast<size_t>(failed), HasSubstr("failed: no space left on disk\n"), 10);
    close(go[0]);
    close(go[1]);
  }
}

TEST(Heartbeat, ForwardsTheNameOfALostRank) {
  // Only rank 1 has a patience short enough to notice the loss itself.
  const auto patience = [](int64_t rank) { return rank == 1 ? kHeartbeatTimeout : 600; };
  const auto work = [](Heartbeat& heartbeat, int64_t rank, const std::function<void()>& ready) {
    if (rank != 1) return blocked(heartbeat, rank, ready);
    ready();
    try {
      heartbeat.check(600);
    } catch (const LostPeer&) {
      heartbeat.fail("unknown error");
      return static_cast<int>(kWorkError);
    }
    return 0;
  };
  Team team(3, work, patience);
  team.wait_until_ready();
  team[2].signal(SIGKILL);
  team.expect_exit_naming(2, HasSubstr("rank 2 on "), 10);
}

TEST(Heartbeat, RegularExitsAreNotFailures) {
  std::array<int, 2> gone{};
  ASSERT_EQ(pipe(gone.data()), 0);
  Team team(3, [=](Heartbeat& heartbeat, int64_t rank, const std::function<void()>& ready) {
    ready();
    if (rank != 1) return 0;
    // This rank outlives the others and must not see a failure.
    char letter = 0;
    if (read(gone[0], &letter, 1) != 1) return 9;
    heartbeat.check();
    return 0;
  });
  EXPECT_EQ(team[2].finish(), 0);
  ASSERT_EQ(write(gone[1], "g", 1), 1);
  for (const size_t rank : {0u, 1u}) EXPECT_EQ(team[rank].finish(), 0);
  for (const size_t rank : {0u, 1u, 2u}) EXPECT_EQ(team[rank].err(), "");
  close(gone[0]);
  close(gone[1]);
}

}  // namespace
}  // namespace tributary

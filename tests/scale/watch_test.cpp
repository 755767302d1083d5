#include "tributary/scale/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/forked.h"
#include "tributary/base/stopwatch.h"

namespace tributary {
namespace {

using testing::HasSubstr;
using Work = std::function<int(Watch&, int64_t rank, const std::function<void()>& ready)>;

constexpr double kPatience = 1;

// Processes that watch each other. Rank 0's text reaches the others through a pipe, in records of one size.
class Team {
 public:
  Team(int64_t size, const Work& work) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    for (int64_t rank = 0; rank < size; ++rank)
      ranks_.push_back(std::make_unique<test::Forked>([=](const std::function<void()>& ready) {
        Place place;
        place.rank = rank;
        place.size = size;
        const auto agree = [&](std::string text) {
          text.resize(128, ' ');
          for (int64_t i = 1; rank == 0 && i < size; ++i)
            if (write(ends[1], text.data(), text.size()) < 0) return std::string();
          if (rank > 0 && read(ends[0], text.data(), text.size()) < 0) return std::string();
          return text;
        };
        Watch watch(place, kPatience, agree);
        watch.advise("start again");
        return work(watch, rank, ready);
      }));
    close(ends[0]);
    close(ends[1]);
  }

  test::Forked& operator[](size_t rank) { return *ranks_[rank]; }
  void wait_until_ready() {
    for (const auto& rank : ranks_) ASSERT_TRUE(rank->wait_until_ready());
  }
  // All but `lost` end with the sentence, soon enough.
  void expect_end_naming(size_t lost, const std::string& sentence, double seconds) {
    const Stopwatch clock;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (rank == lost) continue;
      EXPECT_EQ(ranks_[rank]->finish(), kWorkEnded);
      EXPECT_THAT(ranks_[rank]->err(), HasSubstr(sentence)) << "rank " << rank;
      EXPECT_EQ(std::count(ranks_[rank]->err().begin(), ranks_[rank]->err().end(), '\n'), 1) << ranks_[rank]->err();
    }
    EXPECT_LT(clock.seconds(), seconds);
  }

 private:
  std::vector<std::unique_ptr<test::Forked>> ranks_;
};

// A main thread that is stuck.
int stuck(Watch&, int64_t, const std::function<void()>& ready) {
  ready();
  for (;;) pause();
}

TEST(Watch, EndsTheOthersWhenARankIsKilled) {
  for (const size_t lost : {0u, 1u, 2u}) {
    Team team(3, stuck);
    team.wait_until_ready();
    team[lost].signal(SIGKILL);
    const std::string name = fmt::format("rank {} on ", lost);
    team.expect_end_naming(lost, name, 10);
    EXPECT_THAT(team[lost == 0 ? 1 : 0].err(), HasSubstr(" is lost (its process ended); start again\n"));
  }
}

TEST(Watch, EndsTheOthersWhenARankStandsStill) {
  for (const size_t lost : {0u, 1u}) {
    Team team(3, stuck);
    team.wait_until_ready();
    team[lost].signal(SIGSTOP);
    team.expect_end_naming(lost, "is lost (no sign of life for 1 s); start again", kPatience + 10);
    // Awake again, it finds itself alone.
    team[lost].signal(SIGCONT);
    EXPECT_EQ(team[lost].finish(), kWorkEnded);
  }
}

TEST(Watch, TellsAMainThreadThatAsks) {
  Team team(2, [](Watch& watch, int64_t, const std::function<void()>& ready) {
    ready();
    try {
      watch.check(600);
    } catch (const LostPeer& lost) {
      fmt::print(stderr, "told: {}\n", lost.what());
      return static_cast<int>(kWorkEnded);
    }
    return 0;
  });
  team.wait_until_ready();
  team[1].signal(SIGKILL);
  team.expect_end_naming(1, "told: rank 1 on ", 10);
}

TEST(Watch, PassesOnWhyARankFailed) {
  for (const int64_t failed : {0, 2}) {
    std::array<int, 2> go{};
    ASSERT_EQ(pipe(go.data()), 0);
    Team team(3, [=](Watch& watch, int64_t rank, const std::function<void()>& ready) {
      if (rank != failed) return stuck(watch, rank, ready);
      ready();
      char letter = 0;
      if (read(go[0], &letter, 1) != 1) return 9;
      watch.fail("no space left on disk\nand more");
      return 3;
    });
    team.wait_until_ready();
    ASSERT_EQ(write(go[1], "g", 1), 1);
    EXPECT_EQ(team[static_cast<size_t>(failed)].finish(), 3);
    team.expect_end_naming(static_cast<size_t>(failed),
                           fmt::format("tributary: rank {} failed: no space left on disk\n", failed), 10);
    close(go[0]);
    close(go[1]);
  }
}

TEST(Watch, LetsRanksGoInGoodOrder) {
  Team team(3, [](Watch& watch, int64_t rank, const std::function<void()>& ready) {
    ready();
    if (rank != 1) return 0;
    // The one that stays hears that another left, and nothing worse.
    try {
      watch.check(600);
    } catch (const LostPeer& lost) {
      return std::string(lost.what()).find("ended before the work was done") == std::string::npos ? 9 : 0;
    }
    return 8;
  });
  for (const size_t rank : {0u, 1u, 2u}) {
    EXPECT_EQ(team[rank].finish(), 0);
    EXPECT_EQ(team[rank].err(), "");
  }
}

TEST(Watch, OfOneRankIsContent) {
  Team team(1, [](Watch& watch, int64_t, const std::function<void()>& ready) {
    ready();
    watch.check();
    return 0;
  });
  EXPECT_EQ(team[0].finish(), 0);
}

}  // namespace
}  // namespace tributary

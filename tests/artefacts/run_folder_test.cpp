#include "tributary/artefacts/run_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

class RunFolderTest : public ::testing::Test {
 protected:
  std::string metrics() const { return read_text(folder_.file("metrics.jsonl")); }
  void add(int64_t round) { folder_.add_metrics({{"round", round}}); }

  test::TempDir temp_;
  RunFolder folder_{temp_.path() + "/run", "seed = 1\n"};
};

// After an out-of-memory error, the run is retried within the same process.
TEST_F(RunFolderTest, RetryDiscardsTheMetricsOfTheFailedAttempt) {
  folder_.start();
  add(0);
  add(1);
  folder_.start();
  add(0);
  EXPECT_EQ(metrics(), "{\"round\":0}\n");
}

TEST_F(RunFolderTest, ResumesWithTheMetricsOfEarlierRounds) {
  folder_.start();
  for (int64_t round = 0; round < 4; ++round) add(round);
  folder_.start(2);
  add(2);
  EXPECT_EQ(metrics(), "{\"round\":0}\n{\"round\":1}\n{\"round\":2}\n");
}

TEST_F(RunFolderTest, IsFinishedAfterFinish) {
  folder_.start();
  EXPECT_FALSE(RunFolder(folder_.path(), "seed = 1\n").finished());
  folder_.add_summary({{"accuracy", 0.5}});
  folder_.finish();
  const RunFolder again(folder_.path(), "seed = 1\n");
  EXPECT_TRUE(again.finished());
  EXPECT_EQ(again.summary().at("accuracy"), 0.5);
}

TEST_F(RunFolderTest, AcceptsFoldersWithLeftoversOfAKilledRun) {
  const test::TempDir killed;
  killed.write(".tributary-999999999-0.tmp", "seed");
  RunFolder folder(killed.path(), "seed = 1\n");
  folder.start();
  EXPECT_FALSE(std::filesystem::exists(killed / ".tributary-999999999-0.tmp"));
  killed.write("theirs", "x");
  std::filesystem::remove(killed / "config.toml");
  EXPECT_THROW(RunFolder(killed.path(), "seed = 1\n"), InputError);
}

}  // namespace
}  // namespace tributary

#include "tributary/artefacts/run_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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
  folder_.add_summary({{"pictures", 3},
                       {"rounds", 1},
                       {"sources", nlohmann::json::array()},
                       {"changed_share", 0.5},
                       {"seconds", 1},
                       {"model", "m"},
                       {"predictions", "p"}});
  folder_.finish();
  const RunFolder again(folder_.path(), "seed = 1\n");
  EXPECT_TRUE(again.finished());
  EXPECT_EQ(again.summary().at("changed_share"), 0.5);
}

TEST_F(RunFolderTest, AFinishedRunIsTheSameWithOtherThreads) {
  const std::string path = temp_.path() + "/cores";
  RunFolder folder(path, "seed = 1\nthreads = 4\n");
  folder.start();
  EXPECT_THROW(RunFolder(path, "seed = 1\nthreads = 2\n"), InputError) << "resuming would give other bytes";
  folder.finish();
  EXPECT_TRUE(RunFolder(path, "seed = 1\nthreads = 2\n").finished());
  EXPECT_THROW(RunFolder(path, "seed = 2\nthreads = 2\n"), InputError);
}

TEST_F(RunFolderTest, ARestartRemovesTheUnadaptedModelOfTheRunBefore) {
  const std::string path = temp_.path() + "/again";
  RunFolder(path, "seed = 1\n").start();
  write_file_atomically(path + "/unadapted.safetensors", "of a run that was not to be used");
  RunFolder(path, "seed = 1\n", /*restart=*/true).start();
  EXPECT_FALSE(std::filesystem::exists(path + "/unadapted.safetensors"));
}

TEST_F(RunFolderTest, ASecondStartLeavesAFinishedRunAlone) {
  RunFolder second(folder_.path(), "seed = 1\n");  // examines the folder before the first one finishes
  folder_.start();
  write_file_atomically(folder_.file("model.safetensors"), "model");
  folder_.finish();
  folder_ = RunFolder(temp_.path() + "/other", "seed = 1\n");  // releases the lock
  EXPECT_FALSE(second.finished());
  second.lock();
  EXPECT_TRUE(second.finished());
  EXPECT_THROW(second.start(), std::logic_error);
  EXPECT_TRUE(std::filesystem::exists(second.file("DONE")));
  EXPECT_EQ(read_text(second.file("model.safetensors")), "model");
}

TEST_F(RunFolderTest, ASecondStartOfAnotherRunIsRefused) {
  RunFolder second(folder_.path(), "seed = 2\n");
  folder_.start();
  folder_ = RunFolder(temp_.path() + "/other", "seed = 1\n");
  EXPECT_THROW(second.lock(), InputError);
}

TEST_F(RunFolderTest, NoticesThatTheFolderWasRemoved) {
  folder_.start();
  add(0);
  remove_folder(folder_.path());
  EXPECT_THROW(add(1), WorkError);
  make_folder(folder_.path());
  EXPECT_THROW(folder_.finish(), WorkError) << "another folder in its place";
}

TEST_F(RunFolderTest, RejectsASummaryOfOtherValues) {
  folder_.start();
  folder_.add_summary({{"pictures", "many"}});
  folder_.finish();
  EXPECT_THROW(folder_.summary(), InputError);
}

TEST_F(RunFolderTest, RejectsASummaryWithoutTheElementsThatItShows) {
  const nlohmann::json whole = {{"pictures", 2},   {"rounds", 1},         {"sources", nlohmann::json::array()},
                                {"seconds", 1},    {"changed_share", .5}, {"accuracy", {{"rounds", {1}}, {"last", 2}}},
                                {"model", "m.pt"}, {"predictions", "p"},  {"known_by", {{"cup", {"a"}}}}};
  folder_.start();
  folder_.add_summary(whole);
  folder_.finish();
  EXPECT_EQ(folder_.summary(), whole);
  nlohmann::json broken = whole;
  broken["accuracy"]["rounds"] = nlohmann::json::array();
  folder_.add_summary(broken);
  EXPECT_THROW(folder_.summary(), InputError);
  broken = whole;
  broken["known_by"]["cup"] = {{"a", 1}};
  folder_.add_summary(broken);
  EXPECT_THROW(folder_.summary(), InputError);
}

TEST_F(RunFolderTest, RefusesPipesInTheFolder) {
  folder_.start();
  std::filesystem::remove(folder_.file("metrics.jsonl"));
  ASSERT_EQ(::mkfifo(folder_.file("metrics.jsonl").c_str(), 0600), 0);
  EXPECT_THROW(RunFolder(folder_.path(), "seed = 1\n"), InputError);
}

TEST_F(RunFolderTest, RefusesLinksInTheFolder) {
  folder_.start();
  const test::TempDir elsewhere;
  for (const char* name : {"checkpoint", "history", "model.safetensors"}) {
    std::filesystem::create_directory_symlink(elsewhere.path(), folder_.file(name));
    EXPECT_THROW(RunFolder(folder_.path(), "seed = 1\n"), InputError) << name;
    EXPECT_THROW(RunFolder(folder_.path(), "seed = 1\n", /*restart=*/true), InputError) << name;
    std::filesystem::remove(folder_.file(name));
  }
  EXPECT_FALSE(RunFolder(folder_.path(), "seed = 1\n").finished());
  for (const char* name : {"adapted-0.safetensors", "events.out.tfevents.1", "history/run.json", "estimate/a/DONE"}) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    std::filesystem::create_symlink(elsewhere / "file", folder_.file(name));
    EXPECT_THROW(RunFolder(folder_.path(), "seed = 1\n"), InputError) << name;
    std::filesystem::remove(folder_.file(name));
  }
  EXPECT_FALSE(RunFolder(folder_.path(), "seed = 1\n").finished());
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

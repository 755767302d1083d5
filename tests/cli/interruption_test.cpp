// A command that was killed, interrupted or out of disk space gives the result of an uninterrupted one when it is run
// again.
//
// TRIBUTARY_KILLS is the number of kills per command (scripts/kill-runs uses many), TRIBUTARY_KILL_SEED the seed of
// their times.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/forked.h"
#include "tests/support/forked_program.h"
#include "tests/support/watched_program.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::atoll(text) : otherwise;
}

constexpr int64_t kFirstChanges = 16;

struct Job {
  std::string name;
  std::string command;               // writes to out/
  std::vector<std::string> results;  // in out/
};

std::ostream& operator<<(std::ostream& out, const Job& job) {
  return out << job.name;
}

const std::string kEveryStep = " --threads 1 --save-every 0 ";
const std::string kAdapt =
    "adapt --source signs.safetensors --source postal.safetensors --target data/street/train-images.idx --test "
    "data/street/test-images.idx --run out --batch 16 --points 20" +
    kEveryStep;
const std::vector<std::string> kRun = {"model.safetensors", "predictions.csv", "summary.json"};

const std::vector<Job> kJobs = {
    {"Train",
     "train --data data/signs/train-images.idx --architecture lenet --epochs 8 --batch 16 --out out/model.safetensors" +
         kEveryStep,
     {"model.safetensors"}},
    {"Selective", kAdapt + "--rounds 2 --inner-epochs 1 --no-leave-dominated", kRun},
    {"Sfda", kAdapt + "--method sfda --sfda-steps 6 --sfda-refresh 2 --no-report", kRun},
    {"Decision", kAdapt + "--method decision --epochs 2 --no-history", kRun},
    {"Distill",
     "distill mixture/model.safetensors --target data/street/train-images.idx --epochs 6 --batch 16 --out "
     "out/student.safetensors" +
         kEveryStep,
     {"student.safetensors"}},
    {"Bench",
     "bench digits --architecture lenet --pictures 30 --methods shot,selective --targets street --source-epochs 1 "
     "--epochs 1 --rounds 1 --inner-epochs 1 --jobs 2 --out out" +
         kEveryStep,
     {"table.csv", "sources/signs-seed0.safetensors", "runs/shot-street-seed0/model.safetensors",
      "runs/shot-street-seed0/predictions.csv", "runs/selective-street-seed0/model.safetensors"}},
    {"LabelFree",
     kAdapt + "--rounds 3 --inner-epochs 1 --rate-backbone 2 --rate-bottleneck 2 --keep label-free --no-report", kRun},
    {"Scores",
     "adapt --source signs.npz postal.csv --target data/street/train-images.idx --run out --batch 16 --student-epochs "
     "3 "
     "--rounds 1 --inner-epochs 1 --no-leave-dominated --no-report" +
         kEveryStep,
     kRun},
};

// Pictures, two sources and a mixture, made once.
const test::TempDir& interruption_dir() {
  const std::string train = "train --architecture lenet --epochs 1 --threads 1 --data data/";
  static const test::PreparedDir dir(
      {"data make digits data --pictures 40 --test-pictures 20",
       train + "signs/train-images.idx --out signs.safetensors",
       train + "postal/train-images.idx --out postal.safetensors",
       "adapt --source signs.safetensors --source postal.safetensors --target data/street/train-images.idx --rounds 1 "
       "--inner-epochs 1 --no-report --threads 1 --run mixture",
       "predict signs.safetensors --data data/street/train-images.idx --scores signs.npz",
       "predict postal.safetensors --data data/street/train-images.idx --scores postal.csv"});
  return dir;
}

class Interruption : public ::testing::TestWithParam<Job> {
 protected:
  Interruption() : random_(static_cast<uint64_t>(number_from("TRIBUTARY_KILL_SEED", std::random_device()()))) {}

  // A working folder with all inputs of the commands.
  std::string new_dir(const std::string& name) const {
    const std::string folder = folder_.folder(name);
    for (const char* input : {"data", "signs.safetensors", "postal.safetensors", "mixture", "signs.npz", "postal.csv"})
      fs::create_symlink(interruption_dir() / input, folder + "/" + input);
    return folder;
  }

  int64_t below(int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(random_); }

  // Runs the command with further flags. In a fork, which saves loading LibTorch, unless many kills are wanted; bench
  // starts the program itself, once per job.
  static test::ProcessResult run(const std::string& folder, const std::string& flags = "",
                                 const std::optional<test::SignalPlan>& plan = {}, rlim_t file_limit = RLIM_INFINITY) {
    return test::run_watched(folder, GetParam().command + flags, plan, file_limit, forked());
  }
  static bool forked() { return !std::getenv("TRIBUTARY_KILLS") && GetParam().name != "Bench"; }

  // Runs the command uninterrupted and returns the number of changes it made to its folder.
  int64_t run_uninterrupted(const std::string& folder) const {
    const test::ProcessResult result = run(folder);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.changes;
  }

  // The contents of a file, without the times of a summary.
  static std::string content(const std::string& file) {
    std::string text = test::file_text(file);
    if (!file.ends_with("summary.json")) return text;
    auto summary = nlohmann::json::parse(text);
    summary.erase("seconds");
    summary.erase("phases");
    summary.erase("waiting_seconds");
    return summary.dump();
  }

  // The results of the uninterrupted command and its number of changes, computed once.
  struct Whole {
    int64_t changes = 0;
    std::map<std::string, std::string> results;
  };
  const Whole& whole() const {
    static std::map<std::string, Whole> known;
    Whole& own = known[GetParam().name];
    if (own.changes > 0) return own;
    const std::string folder = new_dir("whole");
    own.changes = run_uninterrupted(folder);
    for (const std::string& file : GetParam().results) own.results[file] = content(folder + "/out/" + file);
    return own;
  }

  // Interrupts the command once it has a checkpoint. Starts over if the signal came too early or too late on a busy
  // machine.
  void interrupt(const std::string& folder, const std::string& flags) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      const test::SignalPlan plan{1 + below(whole().changes), SIGTERM};
      const test::ProcessResult started = run(folder, flags, plan);
      if (started.code == 128 + SIGTERM && has_checkpoint(folder + "/out")) return;
      fs::remove_all(folder + "/out");
    }
    FAIL() << "the command was never interrupted";
  }

  static bool has_checkpoint(const std::string& folder) {
    std::error_code missing;
    for (const auto& entry : fs::recursive_directory_iterator(folder, missing))
      if (entry.path().parent_path().filename().string().ends_with("checkpoint")) return true;
    return false;
  }

  void expect_results(const std::string& folder) const {
    for (const auto& [file, text] : whole().results) {
      EXPECT_FALSE(text.empty()) << file;
      EXPECT_TRUE(content(folder + "/out/" + file) == text) << file << " differs";
    }
  }

  // The results, and no temporary files.
  void expect_whole(const std::string& folder) const {
    expect_results(folder);
    for (const auto& entry : fs::recursive_directory_iterator(folder + "/out"))
      EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }

  const test::TempDir folder_;
  std::mt19937_64 random_;
};

TEST_P(Interruption, KilledAtRandomItGivesTheSameResult) {
  const std::string dir = new_dir("interrupted");
  const int64_t changes = whole().changes;
  for (int64_t kills = 0; kills < number_from("TRIBUTARY_KILLS", 2);) {
    // Every other kill hits the setup, whose few changes are all different.
    const int64_t after = 1 + below(kills % 2 == 0 ? changes : std::min(changes, kFirstChanges));
    SCOPED_TRACE("killed after " + std::to_string(after) + " of " + std::to_string(changes) + " changes");
    const test::ProcessResult result = run(dir, "", test::SignalPlan{after, SIGKILL});
    if (result.code == 128 + SIGKILL) {
      ++kills;
      continue;
    }
    ASSERT_EQ(result.code, 0) << result.err;
    expect_whole(dir);
    fs::remove_all(dir + "/out");
  }
  run_uninterrupted(dir);
  expect_whole(dir);
}

TEST_P(Interruption, SignalSavesACheckpointAndResumes) {
  const std::string dir = new_dir("interrupted");
  const int64_t changes = whole().changes;
  for (const int signal : {SIGTERM, SIGINT}) {
    const int64_t after = 1 + below(changes * 3 / 4);
    SCOPED_TRACE("signalled after " + std::to_string(after) + " of " + std::to_string(changes) + " changes");
    const test::ProcessResult result = run(dir, "", test::SignalPlan{after, signal});
    if (result.code == 0) continue;  // it finished before the signal
    EXPECT_EQ(result.code, 128 + signal) << result.err;
    EXPECT_THAT(result.err, HasSubstr("interrupted"));
    EXPECT_LT(result.seconds_after, 5);
  }
  run_uninterrupted(dir);
  expect_whole(dir);
}

INSTANTIATE_TEST_SUITE_P(Program, Interruption, ::testing::ValuesIn(kJobs),
                         [](const auto& info) { return info.param.name; });

// Two starts race for one folder: one waits for the other, resumes what a killed one left, and leaves alone what a
// finished one wrote.
class RacingInterruption : public Interruption {
 protected:
  // Starts the command twice, kills one start after a number of changes by both, and returns whether it was killed.
  bool race(const std::string& dir, int64_t after) {
    const std::string other_err = dir + "/other.txt";
    const pid_t other = test::start_program(dir, GetParam().command, other_err, RLIM_INFINITY, forked());
    const test::ProcessResult killed = run(dir, "", test::SignalPlan{after, SIGKILL});
    std::ofstream(dir + "/killed").close();
    const int code = test::exit_code_of(other);
    // A start waits for ten seconds at most.
    const auto expect_done = [](int exit_code, const std::string& err) {
      if (exit_code != 0) {
        EXPECT_THAT(err, HasSubstr("in use by another process"));
      }
      return exit_code == 0;
    };
    const bool was_killed = killed.code == 128 + SIGKILL;
    bool done = expect_done(code, test::file_text(other_err));
    if (!was_killed) done = expect_done(killed.code, killed.err) || done;
    // Only a start that still writes after the kill can find the temporary file of the killed one.
    if (done && (!was_killed || written_since(dir + "/out", dir + "/killed")))
      expect_whole(dir);
    else if (done)
      expect_results(dir);
    return was_killed;
  }

  // Whether a result in the folder is newer than the file `since`.
  static bool written_since(const std::string& folder, const std::string& since) {
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().extension() != ".tmp" &&
          entry.last_write_time() > fs::last_write_time(since))
        return true;
    return false;
  }
};
INSTANTIATE_TEST_SUITE_P(Program, RacingInterruption, ::testing::Values(kJobs[0], kJobs[1], kJobs[4], kJobs[5]),
                         [](const auto& info) { return info.param.name; });

TEST_P(RacingInterruption, KilledBesideASecondStartItGivesTheSameResult) {
  const std::string dir = new_dir("raced");
  for (int64_t kills = 0; kills < number_from("TRIBUTARY_KILLS", 1);) {
    const int64_t after = 1 + below(whole().changes);
    SCOPED_TRACE("killed after " + std::to_string(after) + " of " + std::to_string(whole().changes) + " changes");
    if (race(dir, after)) ++kills;
    if (HasFailure()) return;
    run_uninterrupted(dir);
    expect_whole(dir);
    fs::remove_all(dir + "/out");
  }
}

TEST(InterruptionBeside, CommandRemovesWhatOneThatWasKilledMeanwhileLeft) {
  const test::TempDir dir;
  const std::string out = dir.folder("out");
  test::Forked other([&](const std::function<void()>& ready) {
    const PendingFile pending(out + "/other.csv");
    ready();
    ::pause();
    return 0;
  });
  ASSERT_TRUE(other.wait_until_ready());
  test::ChangeCounter changes(out);
  const pid_t program = test::start_program(
      interruption_dir().path(),
      "predict signs.safetensors --data data/street/train-images.idx --out " + out + "/p.csv", dir / "err");
  pollfd change{changes.descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&change, 1, /*milliseconds*/ 60'000), 1) << "it tries the path before it predicts";
  EXPECT_EQ(other.finish(SIGKILL), 128 + SIGKILL);
  EXPECT_EQ(test::exit_code_of(program), 0) << test::file_text(dir / "err");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(out)) names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, ::testing::ElementsAre("p.csv"));
}

// Tests that need only some of the commands.
class OneInterruption : public Interruption {};
INSTANTIATE_TEST_SUITE_P(Program, OneInterruption, ::testing::Values(kJobs[0], kJobs[1], kJobs[4]),
                         [](const auto& info) { return info.param.name; });

TEST_P(OneInterruption, SecondSignalExitsAtOnceWithIntactFiles) {
  const std::string dir = new_dir("interrupted");
  const int64_t changes = whole().changes;
  const test::ProcessResult result = run(dir, "", test::SignalPlan{1 + below(changes * 3 / 4), SIGINT, 2});
  EXPECT_TRUE(result.code == 0 || result.code == 128 + SIGINT) << result.code << result.err;
  run_uninterrupted(dir);
  expect_whole(dir);
}

TEST_P(OneInterruption, FullDiskIsReportedAndKeepsTheCheckpoint) {
  const std::string dir = new_dir("interrupted");
  ASSERT_NO_FATAL_FAILURE(interrupt(dir, ""));
  constexpr rlim_t kFileLimit = 100'000;  // less than a model file
  const test::ProcessResult full = run(dir, "", {}, kFileLimit);
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_THAT(full.err, HasSubstr("File too large; free some space and run the same command again"));
  run_uninterrupted(dir);
  expect_whole(dir);
}

TEST_P(OneInterruption, OtherOptionsAreRejectedWithoutRestart) {
  const std::string dir = new_dir("interrupted");
  ASSERT_NO_FATAL_FAILURE(interrupt(dir, " --seed 9"));
  const test::ProcessResult other = run(dir);
  EXPECT_EQ(other.code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("seed: 9 there, 0 here"));
  EXPECT_THAT(other.err, HasSubstr("--restart"));
  const test::ProcessResult restarted = run(dir, " --restart");
  EXPECT_EQ(restarted.code, 0) << restarted.err;
  expect_whole(dir);
}

}  // namespace
}  // namespace tributary

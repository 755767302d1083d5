// Several processes give the same losses, selections and accuracy as one, with any launcher. If one process is lost,
// all exit, and any number of processes can resume the run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/support/watched_program.h"
#include "tributary/io/safetensors.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

// Pictures and two sources, one with BatchNorm in its backbone; made once.
const test::TempDir& two_sources() {
  static const test::Workshop folder(
      {"data make digits data --pictures 96 --test-pictures 100",
       "train --data data/signs/train-images.idx --architecture lenet --epochs 6 --batch 16 --threads 1 --out "
       "signs.safetensors",
       "train --data data/handwriting/train-images.idx --architecture dtn --epochs 4 --batch 16 --threads 1 --out "
       "handwriting.safetensors"});
  return folder;
}

// The command of an adaptation with run folder `run`. One thread per process, so that only the number of processes
// differs.
std::string adaptation(const std::string& method, const std::string& run) {
  return "adapt --source signs.safetensors --source handwriting.safetensors --target data/postal/train-images.idx "
         "--test data/postal/test-images.idx --batch 16 --no-report --threads 1 --method " +
         method + (method == "selective" ? " --rounds 2 --inner-epochs 1" : " --epochs 2") + " --run " + run;
}

std::vector<json> metrics_of(const std::string& run) {
  std::vector<json> rounds;
  std::stringstream lines(test::file_text(run + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) rounds.push_back(json::parse(line));
  return rounds;
}

// The pictures that each round trained on, if the method selects some.
void expect_same_selections(const std::string& one, const std::string& other, size_t rounds) {
  for (size_t r = 1; r < rounds; ++r) {
    const std::string file = fmt::format("/history/{:04}.safetensors", r);
    const auto wanted = SafetensorsFile::read(one + file), found = SafetensorsFile::read(other + file);
    const TensorEntry* const selected = wanted.find("confident");
    EXPECT_EQ(selected != nullptr, one.ends_with("selective"));
    if (selected) {
      EXPECT_TRUE(std::ranges::equal(selected->data, found.at("confident").data)) << other << file;
    }
  }
}

// Compares losses of every round to 1e-4, and counts and selections exactly.
void expect_same(const std::string& one, const std::string& other) {
  const std::vector<json> wanted = metrics_of(one), found = metrics_of(other);
  ASSERT_EQ(wanted.size(), found.size()) << other;
  ASSERT_GE(wanted.size(), 3u);
  for (size_t r = 0; r < wanted.size(); ++r) {
    for (const auto& [key, value] : wanted[r].items()) {
      if (key.ends_with("seconds") || key == "pictures_per_second") continue;
      const json& there = found[r].at(key);
      if (value.is_number_integer()) {
        EXPECT_EQ(value, there) << other << ", round " << r << ", " << key;
      }
      const json values = value.is_array() ? value : json::array({value});
      const json others = value.is_array() ? there : json::array({there});
      for (size_t i = 0; i < values.size(); ++i)
        if (values[i].is_number_float()) {
          EXPECT_NEAR(values[i].get<double>(), others[i].get<double>(), 1e-4)
              << other << ", round " << r << ", " << key;
        }
    }
  }
  expect_same_selections(one, other, wanted.size());
  const auto accuracy = [](const std::string& run) {
    return json::parse(test::file_text(run + "/summary.json")).at("accuracy").at("last").get<double>();
  };
  EXPECT_EQ(accuracy(one), accuracy(other)) << other;
}

class Scale : public ::testing::TestWithParam<std::string> {
 protected:
  static void expect_done(const std::string& arguments) {
    const test::Outcome outcome = test::run_program(two_sources(), arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << ": " << outcome.err;
  }
  // The run of a single process, made once.
  static std::string alone(const std::string& method) {
    const std::string run = "alone-" + method;
    if (!fs::exists(two_sources() / run)) expect_done(adaptation(method, run));
    return two_sources() / run;
  }
  // Runs a shell command in the test folder.
  static test::Outcome run_shell(const std::string& text) {
    const test::TempDir capture;
    const std::string command = "cd " + test::shell_quoted(two_sources().path()) +
                                " && export CUDA_VISIBLE_DEVICES= && " + text + " >" +
                                test::shell_quoted(capture / "all") + " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, "", test::file_text(capture / "all")};
  }
};

TEST_P(Scale, ProcessesEndAsOneDoes) {
  const std::string wanted = alone(GetParam());
  for (const std::string how : {"--processes 2 --divide rows", "--processes 4"}) {
    const std::string run = GetParam() + std::to_string(how.size());
    expect_done(adaptation(GetParam(), run) + " " + how);
    expect_same(wanted, two_sources() / run);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Scale, ::testing::Values("selective", "shot", "decision"),
                         [](const auto& info) { return info.param; });

TEST_F(Scale, SourcesDividedEndAsOneProcess) {
  const std::string wanted = alone("selective");
  expect_done(adaptation("selective", "by-sources") + " --processes 2 --shard sources");
  expect_same(wanted, two_sources() / "by-sources");
}

TEST_F(Scale, OwnStatisticsOfEachProcessCostLessThanAPoint) {
  const std::string wanted = alone("selective");
  expect_done(adaptation("selective", "own-statistics") + " --processes 2 --shard rows --local-batch-norm");
  const auto accuracy = [](const std::string& run) {
    return json::parse(test::file_text(run + "/summary.json")).at("accuracy").at("last").get<double>();
  };
  EXPECT_NEAR(accuracy(wanted), accuracy(two_sources() / "own-statistics"), 1.0);
}

TEST_F(Scale, TorchrunStartsThemToo) {
  const auto python = test::python_with("torch.distributed.run");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  const test::Outcome outcome =
      run_shell(test::shell_quoted(*python) +
                " -m torch.distributed.run --nproc_per_node 2 --master_port $((20000 + $$ % 10000)) --redirects 1 "
                "--tee 1 --no_python " +
                test::shell_quoted(TRIBUTARY_BINARY) + " " + adaptation("selective", "torchrun") + " --shard rows");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_same(alone("selective"), two_sources() / "torchrun");
}

TEST_F(Scale, TwoHostsAreNetworkNamespaces) {
  const std::string script = std::string(TRIBUTARY_SOURCE_DIR) + "/tests/support/two_hosts.sh";
  const test::Outcome outcome = run_shell(test::shell_quoted(script) + " " + test::shell_quoted(TRIBUTARY_BINARY) +
                                          " " + adaptation("selective", "two-hosts") + " --shard rows");
  if (outcome.code == 77) GTEST_SKIP() << "skipped: no network namespaces";
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_same(alone("selective"), two_sources() / "two-hosts");
}

TEST_F(Scale, TrainingAndDistillationGiveTheirModels) {
  expect_done(
      "train --data data/signs/train-images.idx --architecture dtn --epochs 2 --batch 16 --threads 1 "
      "--processes 2 --out trained.safetensors");
  EXPECT_TRUE(fs::exists(two_sources() / "trained.safetensors"));
  EXPECT_FALSE(fs::exists(two_sources() / "trained.safetensors.checkpoint"));
  alone("selective");
  expect_done(
      "distill alone-selective --architecture lenet --epochs 1 --batch 16 --threads 1 --processes 2 --out "
      "student.safetensors");
  EXPECT_TRUE(fs::exists(two_sources() / "student.safetensors"));
}

TEST_F(Scale, BenchSpreadsItsJobs) {
  expect_done(
      "bench digits --pictures 30 --methods source-ens,shot --targets street --source-epochs 1 --epochs 1 "
      "--threads 1 --processes 2 --out table");
  EXPECT_THAT(test::file_text(two_sources() / "table/table.csv"), HasSubstr("shot,street"));
}

TEST_F(Scale, BadInputIsSaidOnce) {
  const test::Outcome outcome =
      test::run_program(two_sources(),
                        "adapt --source missing.safetensors --target data/postal/train-images.idx --run "
                        "nothing --processes 2");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("missing.safetensors"));
  EXPECT_FALSE(fs::exists(two_sources() / "nothing"));
}

TEST_F(Scale, AskedToStopAllKeepTheStateAndGoOn) {
  const test::TempDir place;
  for (const char* thing : {"data", "signs.safetensors", "handwriting.safetensors"})
    fs::create_symlink(two_sources() / thing, place / thing);
  const std::string command = adaptation("selective", "run") + " --shard rows --processes 2";
  const test::Blow blow{5, SIGTERM, 1, [&](pid_t program) {  // when the first round was reported
                          return metrics_of(place / "run").size() < 2 ? 0 : program;
                        }};
  const test::Ending asked = test::run_watched(place.path(), command, blow);
  ASSERT_TRUE(asked.struck);
  EXPECT_EQ(asked.code, 143) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("to resume from run/checkpoint"));
  const test::Ending gone_on = test::run_watched(place.path(), command);
  EXPECT_EQ(gone_on.code, 0) << gone_on.err;
  EXPECT_THAT(gone_on.err, HasSubstr("resuming in round"));
  expect_same(alone("selective"), place / "run");
}

// The process of rank `rank` among the children of `parent`; 0 if there is none.
pid_t process_of_rank(pid_t parent, int rank) {
  std::stringstream children(
      test::file_text("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children"));
  for (pid_t child; children >> child;) {
    const std::string environment = '\0' + test::file_text("/proc/" + std::to_string(child) + "/environ");
    if (environment.find('\0' + ("RANK=" + std::to_string(rank)) + '\0') != std::string::npos) return child;
  }
  return 0;
}

class LostRankScale : public ::testing::TestWithParam<int> {};

TEST_P(LostRankScale, AllEndAndAnyNumberOfProcessesGoesOn) {
  const test::TempDir place;
  for (const char* thing : {"data", "signs.safetensors", "handwriting.safetensors"})
    fs::create_symlink(two_sources() / thing, place / thing);
  const std::string command = adaptation("selective", "run") + " --save-every 0 --divide rows --processes ";
  const test::Ending whole = test::run_watched(place.path(), command + "2");
  ASSERT_EQ(whole.code, 0) << whole.err;
  fs::rename(place / "run", place / "whole");

  std::mt19937_64 random(std::random_device{}());
  const int64_t after = std::uniform_int_distribution<int64_t>(1, whole.changes * 9 / 10)(random);
  const int lost = GetParam();
  const test::Blow blow{after, SIGKILL, 1, [lost](pid_t program) { return process_of_rank(program, lost); }};
  const test::Ending struck = test::run_watched(place.path(), command + "2", blow);
  ASSERT_TRUE(struck.struck);
  EXPECT_NE(struck.code, 0);
  EXPECT_LT(struck.seconds_after, 30) << struck.err;
  EXPECT_THAT(struck.err, HasSubstr("rank " + std::to_string(lost))) << "after " << after << " changes";

  const test::Ending gone_on = test::run_watched(place.path(), command + "3");
  ASSERT_EQ(gone_on.code, 0) << gone_on.err << "after " << after << " changes";
  const auto summary = [&](const char* run) { return json::parse(test::file_text(place / run + "/summary.json")); };
  EXPECT_EQ(summary("whole").at("confident_rounds"), summary("run").at("confident_rounds"));
  EXPECT_NEAR(summary("whole").at("accuracy").at("last").get<double>(),
              summary("run").at("accuracy").at("last").get<double>(), 3.0);
}

INSTANTIATE_TEST_SUITE_P(Communicator, LostRankScale, ::testing::Values(0, 1),
                         [](const auto& info) { return "Rank" + std::to_string(info.param); });

}  // namespace
}  // namespace tributary

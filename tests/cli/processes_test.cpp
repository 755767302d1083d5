// Several processes give the same losses, selections and accuracy as one, with any launcher. If one process is lost,
// all exit, and any number of processes can resume the run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/support/forked_program.h"
#include "tests/support/watched_program.h"
#include "tributary/io/safetensors.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

// Pictures and two sources, one with BatchNorm in its backbone; made once.
const test::TempDir& processes_dir() {
  static const test::PreparedDir dir(
      {"data make digits data --pictures 96 --test-pictures 100",
       "train --data data/signs/train-images.idx --architecture lenet --epochs 6 --batch 16 --threads 1 --out "
       "signs.safetensors",
       "train --data data/handwriting/train-images.idx --architecture dtn --epochs 4 --batch 16 --threads 1 --out "
       "handwriting.safetensors"});
  return dir;
}

// The command of an adaptation with run folder `run`. One thread per process, so that only the number of processes
// differs. Small rates, because training amplifies the rounding of sums, and how much depends on the CPU.
std::string adaptation(const std::string& method, const std::string& run,
                       const std::string& rates = " --rate-backbone 3e-4 --rate-bottleneck 3e-4") {
  return "adapt --source signs.safetensors --source handwriting.safetensors --target data/postal/train-images.idx "
         "--test data/postal/test-images.idx --batch 16 --no-report --threads 1 --method " +
         method +
         (method == "selective" ? " --variant recommended --rounds 2 --inner-epochs 1" + rates : " --epochs 2") +
         " --run " + run;
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
          EXPECT_NEAR(values[i].get<double>(), others[i].get<double>(),
                      1e-4 * std::max(1.0, std::abs(values[i].get<double>())))
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
    const test::Outcome outcome = test::run_program(processes_dir(), arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << ": " << outcome.err;
  }
  // The run of a single process, made once.
  static std::string alone(const std::string& method) {
    const std::string run = "alone-" + method;
    if (!fs::exists(processes_dir() / run)) {
      const test::Outcome outcome = test::run_forked_program(processes_dir(), adaptation(method, run));
      EXPECT_EQ(outcome.code, 0) << outcome.err;
    }
    return processes_dir() / run;
  }
  // Runs a shell command in the test folder.
  static test::Outcome run_shell(const std::string& text) {
    const test::TempDir capture;
    const std::string command = "cd " + test::shell_quoted(processes_dir().path()) +
                                " && export CUDA_VISIBLE_DEVICES= && " + text + " >" +
                                test::shell_quoted(capture / "all") + " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, "", test::file_text(capture / "all")};
  }
};

TEST_P(Scale, ProcessesMatchASingleOne) {
  const std::string wanted = alone(GetParam());
  std::vector<std::string> launches = {"--processes 2 --divide rows --rank-patience 60"};
  if (GetParam() != "shot") launches.push_back("--processes 4");
  for (const std::string& how : launches) {
    const std::string run = GetParam() + std::to_string(how.size());
    expect_done(adaptation(GetParam(), run) + " " + how);
    expect_same(wanted, processes_dir() / run);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Scale, ::testing::Values("selective", "shot", "decision"),
                         [](const auto& info) { return info.param; });

// Expects the same results of the runs of one process and of two, which keep half of the target set's rows each.
void expect_same_results(const std::string& one, const std::string& other) {
  const auto lines_of = [](const std::string& run) {
    std::vector<std::string> lines;
    std::istringstream text(test::file_text(run + "/predictions.csv"));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  };
  const std::vector<std::string> wanted = lines_of(one), found = lines_of(other);
  ASSERT_EQ(wanted.size(), found.size());
  for (size_t i = 1; i < wanted.size(); ++i) {
    std::istringstream left(wanted[i]), right(found[i]);
    std::string a, b;
    for (int cell = 0; std::getline(left, a, ',') && std::getline(right, b, ','); ++cell)
      if (cell == 2) {
        EXPECT_NEAR(std::stod(a), std::stod(b), 1e-3) << wanted[i];
      } else {
        EXPECT_EQ(a, b) << wanted[i];
      }
  }
  const auto summary_of = [](const std::string& run) { return json::parse(test::file_text(run + "/summary.json")); };
  const json left = summary_of(one), right = summary_of(other);
  EXPECT_EQ(left.at("verdict").at("decision"), right.at("verdict").at("decision"));
  EXPECT_EQ(left.at("kept").at("round"), right.at("kept").at("round"));
  EXPECT_NEAR(left.at("confidence").at("temperature").get<double>(),
              right.at("confidence").at("temperature").get<double>(), 1e-2);
  EXPECT_EQ(left.at("estimate").at("after"), right.at("estimate").at("after"));
  EXPECT_EQ(fs::exists(one + "/unadapted.safetensors"), fs::exists(other + "/unadapted.safetensors"));
}

TEST_F(Scale, OptionsThatLookAtAllPicturesMatchASingleProcess) {
  expect_done("predict handwriting.safetensors --data data/postal/train-images.idx --scores handwriting.npz");
  std::string labels = "picture,label\n";
  for (const int picture : {3, 40, 77})
    labels += fmt::format("data/postal/train-images.idx[{}],{}\n", picture, picture % 10);
  std::ofstream(processes_dir() / "given.csv") << labels;
  const std::string common =
      "adapt --target data/postal/train-images.idx --batch 16 --threads 1 --method selective --rounds 2 --inner-epochs "
      "1 "
      "--variant tributary --keep label-free ";
  const std::string models = common + "--source signs.safetensors --source handwriting.safetensors ";
  const std::string slow = "--rate-backbone 3e-4 --rate-bottleneck 3e-4 ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"whole-set", models + slow +
                        "--labels given.csv --class-prior auto --label-balance 0.5 --per-class --score-memory 0.4 "
                        "--cross-labels --neighbours 3"},
      {"recomputed", models + slow + "--recompute all"},
      {"with-scores", common + slow + "--source signs.safetensors handwriting.npz"},
      // Rates that wreck the sources: an earlier round is the result.
      {"wrecked", models + "--rate-backbone 0.5 --rate-bottleneck 0.5"}};
  for (const auto& [name, command] : cases) {
    expect_done(command + " --run one-" + name);
    expect_done(command + " --processes 2 --divide rows --run two-" + name);
    expect_same_results(processes_dir() / ("one-" + name), processes_dir() / ("two-" + name));
  }
}

TEST_F(Scale, ShardedSourcesMatchASingleProcess) {
  const std::string wanted = alone("selective");
  expect_done(adaptation("selective", "by-sources") + " --processes 2 --shard sources");
  expect_same(wanted, processes_dir() / "by-sources");
}

TEST_F(Scale, RanksFollowTheDecisionOfTheFirst) {
  const std::string rates = " --rate-backbone 2 --rate-bottleneck 2", flags = " --keep label-free";
  expect_done(adaptation("selective", "kept-alone", rates) + flags);
  const auto summary = [](const std::string& run) {
    return json::parse(test::file_text(processes_dir() / (run + "/summary.json")));
  };
  const json alone = summary("kept-alone");
  EXPECT_LT(alone.at("kept").at("round"), 2);
  for (const std::string by : {"rows", "sources"}) {
    expect_done(adaptation("selective", "kept-" + by, rates) + flags + " --processes 2 --shard " + by);
    const json found = summary("kept-" + by);
    EXPECT_EQ(found.at("kept").at("round"), alone.at("kept").at("round")) << by;
    EXPECT_EQ(found.at("accuracy").at("kept"), alone.at("accuracy").at("kept")) << by;
  }
}

TEST_F(Scale, LocalBatchNormCostsLessThanAPoint) {
  const std::string wanted = alone("selective");
  expect_done(adaptation("selective", "local-batch-norm") + " --processes 2 --shard rows --local-batch-norm");
  const auto accuracy = [](const std::string& run) {
    return json::parse(test::file_text(run + "/summary.json")).at("accuracy").at("last").get<double>();
  };
  EXPECT_NEAR(accuracy(wanted), accuracy(processes_dir() / "local-batch-norm"), 1.0);
}

TEST_F(Scale, RunsUnderTorchrun) {
  const auto python = test::python_with("torch.distributed.run");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  const test::Outcome outcome =
      run_shell(test::shell_quoted(*python) +
                " -m torch.distributed.run --nproc_per_node 2 --master_port $((20000 + $$ % 10000)) --redirects 1 "
                "--tee 1 --no_python " +
                test::shell_quoted(TRIBUTARY_BINARY) + " " + adaptation("selective", "torchrun") + " --shard rows");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_same(alone("selective"), processes_dir() / "torchrun");
}

TEST_F(Scale, RunsOnTwoHosts) {
  const std::string script = std::string(TRIBUTARY_SOURCE_DIR) + "/tests/support/two_hosts.sh";
  const test::Outcome outcome = run_shell(test::shell_quoted(script) + " " + test::shell_quoted(TRIBUTARY_BINARY) +
                                          " " + adaptation("selective", "two-hosts") + " --shard rows");
  if (outcome.code == 77) GTEST_SKIP() << "skipped: no network namespaces";
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_same(alone("selective"), processes_dir() / "two-hosts");
}

TEST_F(Scale, TrainingAndDistillationWriteTheirModels) {
  alone("selective");
  for (const std::string recompute : {"auto", "all"}) {
    const std::string common = " --batch 16 --threads 1 --processes 2 --recompute " + recompute + " --out ";
    const std::string trained = "trained-" + recompute + ".safetensors",
                      student = "student-" + recompute + ".safetensors";
    expect_done("train --data data/signs/train-images.idx --architecture dtn --epochs 2" + common + trained);
    EXPECT_TRUE(fs::exists(processes_dir() / trained));
    EXPECT_FALSE(fs::exists(processes_dir() / (trained + ".checkpoint")));
    expect_done("distill alone-selective --architecture lenet --epochs 1" + common + student);
    EXPECT_TRUE(fs::exists(processes_dir() / student));
  }
}

TEST_F(Scale, BenchDistributesItsJobs) {
  expect_done(
      "bench digits --architecture lenet --pictures 30 --methods source-ens,shot --targets street --source-epochs 1 "
      "--epochs 1 "
      "--threads 1 --processes 2 --out table");
  EXPECT_THAT(test::file_text(processes_dir() / "table/table.csv"), HasSubstr("shot,street"));
}

TEST_F(Scale, BadInputIsReportedOnce) {
  const test::Outcome outcome =
      test::run_program(processes_dir(),
                        "adapt --source missing.safetensors --target data/postal/train-images.idx --run "
                        "nothing --processes 2");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("missing.safetensors"));
  EXPECT_FALSE(fs::exists(processes_dir() / "nothing"));
}

TEST_F(Scale, SigtermSavesACheckpointAndResumes) {
  const test::TempDir dir;
  for (const char* input : {"data", "signs.safetensors", "handwriting.safetensors"})
    fs::create_symlink(processes_dir() / input, dir / input);
  const std::string command = adaptation("selective", "run") + " --shard rows --processes 2";
  const test::SignalPlan plan{5, SIGTERM, 1, [&](pid_t program) {  // after the first round was reported
                                return metrics_of(dir / "run").size() < 2 ? 0 : program;
                              }};
  const test::ProcessResult interrupted = test::run_watched(dir.path(), command, plan);
  ASSERT_TRUE(interrupted.signalled);
  EXPECT_EQ(interrupted.code, 143) << interrupted.err;
  EXPECT_THAT(interrupted.err, HasSubstr("to resume from run/checkpoint"));
  const test::ProcessResult resumed = test::run_watched(dir.path(), command);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("resuming in round"));
  expect_same(alone("selective"), dir / "run");
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

json summary_of(const std::string& run) {
  return json::parse(test::file_text(run + "/summary.json"));
}

class LostRankScale : public ::testing::TestWithParam<int> {};

TEST_P(LostRankScale, AllRanksExitAndAnyNumberOfRanksResumes) {
  const test::TempDir dir;
  for (const char* input : {"data", "signs.safetensors", "handwriting.safetensors"})
    fs::create_symlink(processes_dir() / input, dir / input);
  const std::string launch = " --save-every 0 --shard rows --processes ";
  const std::string command = adaptation("selective", "run") + launch;
  static const std::string whole_run = adaptation("selective", "whole") + launch;
  static const int64_t changes = test::run_watched(processes_dir().path(), whole_run + "2").changes;
  const json whole = summary_of(processes_dir() / "whole");

  std::mt19937_64 random(std::random_device{}());
  int64_t after = std::uniform_int_distribution<int64_t>(1, changes)(random);
  const int lost = GetParam();
  test::ProcessResult killed;
  // Runs differ in their number of changes, because the kernel merges some. One that ended too early is repeated.
  for (; after > 0 && !killed.signalled; after = after * 3 / 4) {
    fs::remove_all(dir / "run");
    const test::SignalPlan plan{after, SIGKILL, 1, [lost](pid_t program) { return process_of_rank(program, lost); }};
    killed = test::run_watched(dir.path(), command + "2", plan);
  }
  ASSERT_TRUE(killed.signalled);
  EXPECT_NE(killed.code, 0);
  EXPECT_LT(killed.seconds_after, 30) << killed.err;
  EXPECT_THAT(killed.err, HasSubstr("rank " + std::to_string(lost)));

  const test::ProcessResult resumed = test::run_watched(dir.path(), command + "3");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const json last = summary_of(dir / "run");
  EXPECT_EQ(whole.at("confident_rounds"), last.at("confident_rounds"));
  EXPECT_NEAR(whole.at("accuracy").at("last").get<double>(), last.at("accuracy").at("last").get<double>(), 3.0);
}

INSTANTIATE_TEST_SUITE_P(Communicator, LostRankScale, ::testing::Values(0, 1),
                         [](const auto& info) { return "Rank" + std::to_string(info.param); });

}  // namespace
}  // namespace tributary

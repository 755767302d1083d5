#include "tributary/experiments/tables.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using Arguments = std::vector<std::string>;

std::string value_of(const Arguments& arguments, const std::string& flag) {
  const auto at = std::find(arguments.begin(), arguments.end(), flag);
  return at == arguments.end() ? "" : *(at + 1);
}

// A fake program that records its calls and returns made-up accuracies.
struct FakeProgram {
  std::mutex mutex;
  std::vector<Arguments> calls;

  nlohmann::json operator()(const Arguments& arguments) {
    const std::lock_guard<std::mutex> lock(mutex);
    calls.push_back(arguments);
    if (arguments.front() == "train") return nlohmann::json::object();
    if (value_of(arguments, "--method") == "broken") throw std::runtime_error("it broke");
    const double accuracy = 80 + 2 * std::stod(value_of(arguments, "--seed"));
    return {{"accuracy",
             {{"last", accuracy}, {"label_free", {{"accuracy", accuracy + 1}}}, {"best_with_labels", accuracy + 5}}}};
  }
};

TableTask task_in(const test::TempDir& folder) {
  TableTask task;
  task.out = folder.path();
  task.domains = {{"amazon", "A", "office-31", "a-train", "a-test"},
                  {"webcam", "W", "office-31", "w-train", "w-test"},
                  {"dslr", "D", "", "d", "d"}};
  task.targets = {"amazon", "webcam"};
  task.rows = {{"Ours", "selective", {"--method", "selective"}, false, {{"amazon", 77.6}, {"webcam", 98.7}}},
               {"Broken", "broken", {"--method", "broken"}, false, {}}};
  task.seeds = 2;
  task.jobs = 3;
  return task;
}

TEST(Tables, TrainEverySourceOnceAndAdaptFromTheOthers) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  folder.write("sources/dslr-seed1.safetensors", "exists already");
  FakeProgram program;
  std::set<std::string> reported;
  const TableResult result =
      run_table(task, std::ref(program), [&](int64_t, int64_t, const std::string& what) { reported.insert(what); });
  int trained = 0;
  for (const Arguments& call : program.calls) {
    trained += call.front() == "train";
    if (call.front() == "train") continue;
    EXPECT_EQ(std::count(call.begin(), call.end(), "--source"), 2);
    const std::string own = value_of(call, "--target") == "a-train" ? "amazon-seed" : "webcam-seed";
    for (const std::string& argument : call) EXPECT_EQ(argument.find("sources/" + own), std::string::npos) << own;
  }
  EXPECT_EQ(trained, 3 * 2 - 1) << "one exists already";
  EXPECT_EQ(result.cells.at("selective").at("webcam").last, (std::vector<double>{80, 82}));
  EXPECT_EQ(result.cells.at("broken").at("amazon").failure, "it broke");
  EXPECT_THAT(reported, testing::IsSupersetOf({"source webcam, seed 1", "Ours on webcam, seed 1: 82.0 %",
                                               "Broken on amazon, seed 0 failed: it broke"}));
}

TEST(Tables, RetryJobsThatRanOutOfMemory) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  task.rows.pop_back();
  FakeProgram program;
  std::map<std::string, int> attempts;
  std::mutex mutex;
  const auto greedy = [&](const Arguments& arguments) {
    const nlohmann::json result = program(arguments);
    const std::lock_guard<std::mutex> lock(mutex);
    const std::string target = value_of(arguments, "--target");
    if (target == "a-train" && ++attempts[value_of(arguments, "--seed")] == 1) throw MemoryError("out of memory");
    return result;
  };
  int64_t reported = 0;
  const TableResult result = run_table(task, greedy, [&](int64_t, int64_t, const std::string&) { ++reported; });
  EXPECT_EQ(result.cells.at("selective").at("amazon").failure, "");
  EXPECT_EQ(result.cells.at("selective").at("amazon").last, (std::vector<double>{80, 82}));
  EXPECT_EQ(attempts, (std::map<std::string, int>{{"0", 2}, {"1", 2}}));
  EXPECT_EQ(reported, 3 * 2 + 2 * 2) << "every source and every run once";
}

TEST(Tables, FailJobsThatRunOutOfMemoryTwice) {
  const test::TempDir folder;
  const TableTask task = task_in(folder);
  const auto greedy = [&](const Arguments& arguments) -> nlohmann::json {
    if (arguments.front() == "train") return {};
    throw MemoryError("out of memory");
  };
  const TableResult result = run_table(task, greedy, [](int64_t, int64_t, const std::string&) {});
  EXPECT_EQ(result.cells.at("selective").at("webcam").failure, "out of memory");
}

TEST(Tables, ShowMeansDeviationsAndThePapersValues) {
  const test::TempDir folder;
  const TableTask task = task_in(folder);
  FakeProgram program;
  const TableResult result = run_table(task, std::ref(program), [](int64_t, int64_t, const std::string&) {});
  const std::string last = table_text(task, result, TableFigure::kLast, true);
  EXPECT_THAT(last, testing::HasSubstr("| Ours | 81.0 ± 1.4 (77.6) | 81.0 ± 1.4 (98.7) | 81.0 ± 1.4 (88.2) |"));
  EXPECT_THAT(last, testing::HasSubstr("| Broken | failed | failed | - |"));
  EXPECT_THAT(table_text(task, result, TableFigure::kWithLabels, true), testing::HasSubstr("86.0 ± 1.4"));
  EXPECT_THAT(table_csv(task, result), testing::HasSubstr("selective,amazon,1,82.000,83.000,87.000,77.6\n"));
  const nlohmann::json json = table_json(task, result);
  EXPECT_EQ(json.at("rows")[0].at("targets").at("webcam").at("paper"), 98.7);
  EXPECT_EQ(json.at("rows")[1].at("targets").at("webcam").at("failure"), "it broke");
}

}  // namespace
}  // namespace tributary

#include "tributary/experiments/tables.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/experiments/table_page.h"
#include "tributary/run/source_training_run.h"

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
  task.sources = folder / "sources";
  task.recipe = {{"architecture", "lenet"}};
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
  const StoredSource existing = sources_of(task).back();
  EXPECT_EQ(existing.domain, "dslr");
  EXPECT_EQ(existing.seed, 1);
  make_folder(existing.folder);
  write_file_atomically(existing.model, "exists already");
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
  EXPECT_EQ(result.trained_sources, 5);
  EXPECT_EQ(result.found_sources, 1);
  EXPECT_EQ(result.cells.at("selective").at("webcam").last, (std::vector<double>{80, 82}));
  EXPECT_EQ(result.cells.at("broken").at("amazon").failure, "it broke");
  EXPECT_THAT(reported, testing::IsSupersetOf({"source webcam, seed 1", "Ours on webcam, seed 1: 82.0 %",
                                               "Broken on amazon, seed 0 failed: it broke"}));
}

TEST(Tables, TrainNoSourceOnTheOnlyTarget) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  task.targets = {"amazon"};
  std::set<std::string> domains;
  for (const StoredSource& source : sources_of(task)) domains.insert(source.domain);
  EXPECT_EQ(domains, (std::set<std::string>{"webcam", "dslr"}));
}

// The --source arguments of an adaptation.
std::multiset<std::string> sources_in(const Arguments& call) {
  std::multiset<std::string> files;
  for (size_t i = 0; i + 1 < call.size(); ++i)
    if (call[i] == "--source") files.insert(call[i + 1]);
  return files;
}

TEST(Tables, AllRowsOfATargetAndSeedShareTheirSources) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  task.rows = {{"Ours", "selective", {"--method", "selective"}, false, {}},
               {"Oracle", "selective-oracle", {"--method", "selective"}, true, {}},
               {"w/o mixup", "selective-without-mixup", {"--method", "selective", "--ablations", "mixup"}, false, {}},
               {"SHOT", "shot", {"--method", "shot", "--epochs", "3"}, false, {}}};
  FakeProgram program;
  run_table(task, std::ref(program), [](int64_t, int64_t, const std::string&) {});
  std::map<std::string, std::set<std::multiset<std::string>>> used;  // by target and seed
  for (const Arguments& call : program.calls)
    if (call.front() == "adapt") used[value_of(call, "--target") + value_of(call, "--seed")].insert(sources_in(call));
  EXPECT_EQ(used.size(), 4u);
  for (const auto& [target, sources] : used) EXPECT_EQ(sources.size(), 1u) << target;
}

TEST(Tables, ASubsetTakesThePlaceOfItsTarget) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  task.rows = {{"Oracle", "oracle", {"--method", "selective"}, true, {}}};
  task.subsets[{"amazon", 1}] = "few.txt";
  FakeProgram program;
  run_table(task, std::ref(program), [](int64_t, int64_t, const std::string&) {});
  for (const Arguments& call : program.calls) {
    if (call.front() == "train") {
      EXPECT_NE(value_of(call, "--data"), "few.txt");
      continue;
    }
    const bool few = value_of(call, "--run").ends_with("amazon-seed1");
    EXPECT_EQ(value_of(call, "--target") == "few.txt", few);
    EXPECT_EQ(value_of(call, "--test") == "few.txt", few);
    EXPECT_EQ(value_of(call, "--oracle-labels") == "few.txt", few);
  }
}

TEST(Tables, OtherSourceTrainingIsAnotherSource) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  const std::string before = sources_of(task).front().model;
  task.rows.pop_back();
  task.seeds = 1;
  EXPECT_EQ(sources_of(task).front().model, before) << "neither rows nor seeds matter";
  task.out = folder / "other";
  EXPECT_EQ(sources_of(task).front().model, before) << "nor the table's folder";
  task.domains[0].recipe = {{"data", "0123"}};
  EXPECT_NE(sources_of(task).front().model, before);
  task.domains[0].recipe = {};
  task.recipe["device"] = "cuda";
  EXPECT_NE(sources_of(task).front().model, before);
}

TEST(Tables, RememberTheGpuMemoryOfTheirJobs) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  task.rows.pop_back();
  task.gpu_memory = 100;
  std::atomic<int64_t> running = 0, most = 0;
  FakeProgram program;
  const auto call = [&](const Arguments& arguments) {
    const int64_t now = ++running;
    int64_t before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    nlohmann::json result = program(arguments);
    result["gpu_peak_bytes"] = arguments.front() == "train" ? 60 : 20;
    --running;
    return result;
  };
  task.targets = {"amazon"};
  run_table(task, call, [](int64_t, int64_t, const std::string&) {});
  EXPECT_EQ(most, 1) << "no two of 60 fit into 100; of the two adaptations, one shows the size";
  const nlohmann::json peaks = nlohmann::json::parse(read_text(folder / "gpu-memory.json"));
  EXPECT_THAT(peaks.dump(), testing::AllOf(testing::HasSubstr("60"), testing::HasSubstr("20")));
  ASSERT_EQ(peaks.size(), 2u);
  run_table(task, call, [](int64_t, int64_t, const std::string&) {});
  EXPECT_EQ(most, 2) << "now both adaptations run at once";
}

TEST(Tables, StartSourcesBesideOneThatHasReportedItsMemory) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  task.seeds = 1;
  task.gpu_memory = 100;
  FakeProgram program;
  std::atomic<int> started = 0;
  // Every training waits for a second one to start, which needs the report of the first.
  const auto call = [&](const Arguments& arguments) {
    if (arguments.front() == "train") {
      ++started;
      const std::string file = training_memory_file(value_of(arguments, "--out"));
      make_folder(std::filesystem::path(file).parent_path());
      write_file_atomically(file, "{\"gpu_peak_bytes\": 40}");
      for (int i = 0; i < 1000 && started < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_GE(started, 2);
    }
    return program(arguments);
  };
  run_table(task, call, [](int64_t, int64_t, const std::string&) {});
  EXPECT_EQ(started, 3);
}

TEST(Tables, SpeakOfThePaperOnlyWhereItHasFigures) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  FakeProgram program;
  const TableResult result = run_table(task, std::ref(program), [](int64_t, int64_t, const std::string&) {});
  EXPECT_TRUE(has_paper_figures(task));
  const std::vector<std::string> notes = table_notes(task, result);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], testing::HasSubstr("MSFDA, CAiDA, SFDA and NRC print the best iteration, chosen with labels"));
  EXPECT_EQ(table_page(task, result, "x", "bench", {}).at("notes"), nlohmann::json(notes));
  for (TableRow& row : task.rows) row.paper.clear();
  EXPECT_FALSE(has_paper_figures(task));
  EXPECT_TRUE(table_notes(task, result).empty());
  EXPECT_THAT(table_text(task, result, TableFigure::kLast, true), testing::Not(testing::HasSubstr("(")));
}

TEST(Tables, SayWhenRunsStartFromDifferentSources) {
  const test::TempDir folder;
  TableTask task = task_in(folder);
  task.rows.pop_back();
  for (const std::string run : {"shot-amazon-seed0", "nrc-amazon-seed0"}) {
    const std::string file =
        run.starts_with("shot") ? "s/dslr-seed0-aa/model.safetensors" : "s/dslr-seed0-bb/model.safetensors";
    folder.write("runs/" + run + "/summary.json", nlohmann::json{{"sources", {{{"file", file}}}}}.dump());
    folder.write("runs/" + run + "/DONE", "");
  }
  FakeProgram program;
  const TableResult result = run_table(task, std::ref(program), [](int64_t, int64_t, const std::string&) {});
  ASSERT_EQ(result.mixed.size(), 1u);
  EXPECT_THAT(table_notes(task, result).back(), testing::HasSubstr("start from different sources"));
  EXPECT_THAT(table_json(task, result).at("notes").dump(), testing::HasSubstr("shot from aa; nrc from bb"));
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

TEST(Tables, ShowTheKeptRoundAsTheLabelFreeOne) {
  const test::TempDir folder;
  const TableTask task = task_in(folder);
  FakeProgram program;
  const auto keeping = [&](const Arguments& arguments) {
    nlohmann::json summary = program(arguments);
    if (arguments.front() == "adapt") summary["accuracy"]["kept"] = {{"round", 1}, {"accuracy", 83.5}};
    return summary;
  };
  const TableResult result = run_table(task, keeping, [](int64_t, int64_t, const std::string&) {});
  EXPECT_EQ(result.cells.at("selective").at("webcam").picked, (std::vector<double>{83.5, 83.5}));
  EXPECT_EQ(result.cells.at("selective").at("webcam").last, (std::vector<double>{80, 82}));
}

}  // namespace
}  // namespace tributary

// What every command must withstand: foreign text, a full disk at standard output, models that compute NaN.
//
// Each table names its command, and a test compares the names with those of the program: a new command cannot be
// forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "tests/run/run_files.h"
#include "tests/support/forked_program.h"
#include "tests/support/pictures.h"
#include "tests/support/safe_text.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEscape = "\x1b]0;owned\x07";
constexpr const char* kLatin1 = "caf\xe9";

// Ten classes with names that no terminal, table or spreadsheet may obey.
std::vector<std::string> hostile_classes() {
  std::vector<std::string> names = {kEscape,
                                    "=cmd|'/C calc'!A0",
                                    "two\nlines",
                                    "\xc2\x9b"
                                    "2J",
                                    "\u202etxt",
                                    "\x7f",
                                    "\"quoted\"",
                                    "a,b",
                                    "@sum(1)",
                                    "-1"};
  return names;
}

SourceModel hostile_model(uint64_t seed) {
  ModelInfo info = test::small_info("lenet");
  info.classes = hostile_classes();
  info.name = "model " + std::to_string(seed) + kEscape;
  return SourceModel(info, Random(seed));
}

// Changes the tensors whose names end in `ending`.
SourceModel broken_model(const std::string& ending, const std::function<Tensor(const Tensor&)>& change) {
  SourceModel model(test::small_info("dtn"), Random(3));
  NamedTensors state = copy_of(model.state());
  for (NamedTensor& tensor : state)
    if (tensor.name.ends_with(ending)) tensor.value = change(tensor.value);
  model.restore(state);
  return model;
}

// Pictures, models and a finished run, written once.
class EveryCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempDir;
    save_source(*folder_ / "a.safetensors", hostile_model(1));
    save_source(*folder_ / "b.safetensors", hostile_model(2));
    const std::string bad_picture = std::string("pictures/") + kLatin1 + ".png";
    folder_->write(bad_picture, "not a picture");
    folder_->write(std::string("pictures/") + kEscape + ".png", "not a picture");
    for (int i = 0; i < 20; ++i)
      folder_->write("pictures/" + std::to_string(i) + (i % 2 == 0 ? kEscape : "") + ".png",
                     test::encode_png(test::sample_picture(8, 8, static_cast<uint64_t>(i))));
    for (int k = 0; k < 10; ++k)
      for (int i = 0; i < 2; ++i)
        folder_->write("labelled/" + file_name(hostile_classes()[k]) + "/" + std::to_string(i) + ".png",
                       test::encode_png(test::sample_picture(8, 8, static_cast<uint64_t>(k))));
    for (const char* name : {kLatin1, "b"})
      for (int i = 0; i < 4; ++i)
        folder_->write(std::string("latin1/") + name + "/" + std::to_string(i) + ".png",
                       test::encode_png(test::sample_picture(8, 8, 1)));
    for (int k = 0; k < 10; ++k)
      folder_->write("numbered/" + std::to_string(k) + "/a.png", test::encode_png(test::sample_picture(8, 8, 1)));
    folder_->write("classes.txt", std::string(kLatin1) + "\nb\n");
    folder_->write("domains.toml", "[benchmark]\nname = \"\\u001b]0;owned\"\n");
    folder_->write("config.toml", "\"\\u001b[2J\" = 1\n");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  // No class has a slash but the second, whose folder cannot exist.
  static std::string file_name(std::string name) {
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
  }
  static std::set<std::string> commands() {
    std::set<std::string> names;
    for (const auto& command : cli::make_commands()) names.insert(command->name());
    return names;
  }

  static test::TempDir* folder_;
};

test::TempDir* EveryCommand::folder_ = nullptr;

TEST_F(EveryCommand, ShowsForeignTextWithoutControlCharacters) {
  struct Shown {
    std::string command, arguments;
    int code;
  };
  const std::string sources = "--source a.safetensors --source b.safetensors --max-skipped 0.2 --save-every 1000";
  const std::vector<Shown> shown = {
      {"adapt", sources + " --target pictures --rounds 1 --inner-epochs 1 --batch 8 --run run", 0},
      {"adapt", sources + " --target pictures --rounds 1 --inner-epochs 1 --batch 8 --run run", 0},  // finished
      {"adapt", "--config config.toml --source a.safetensors --target pictures", 2},
      {"predict", "run --data pictures", 0},
      {"predict", "a.safetensors --data pictures --json", 0},
      {"suggest", "run --count 2 --out few.csv", 0},
      {"continue", std::string("'") + kEscape + "'", 2},
      {"evaluate", "a.safetensors --data labelled", 2},  // one class folder has another name
      {"evaluate", "a.safetensors --data latin1", 2},
      {"inspect", "a.safetensors --tensors", 0},
      {"inspect", "run", 0},
      {"inspect", "run --json", 0},
      {"report", "run", 0},
      {"export", "run --card card.json --onnx run.onnx", 0},
      {"distill", "run --epochs 1 --batch 8 --architecture lenet --max-skipped 0.2", 0},
      {"train", "--data latin1 --architecture lenet --epochs 1 --out x.safetensors", 2},
      {"train", "--data numbered --classes classes.txt --architecture lenet --epochs 1 --out x.safetensors", 2},
      {"data", "pack --data pictures --out shards --max-skipped 0.2", 0},
      {"data", "check domains.toml", 2},
      {"bench", "domains.toml", 2},
      {"demo", std::string("--target '") + kEscape + "'", 2},
  };
  std::set<std::string> covered;
  for (const auto& [command, arguments, code] : shown) {
    covered.insert(command);
    const test::Outcome outcome = test::run_forked_program(*folder_, command + " " + arguments);
    const std::string label = command + " " + arguments;
    EXPECT_EQ(outcome.code, code) << label << "\n" << outcome.err;
    EXPECT_TRUE(test::is_safe_text(outcome.out)) << label << "\n" << outcome.out;
    EXPECT_TRUE(test::is_safe_text(outcome.err)) << label << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("exception"))) << label;
    if (code == 2) {
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
  }
  EXPECT_EQ(covered, commands());
  // What the run wrote is text for other programs.
  for (const char* file : {"run/predictions.csv", "run/summary.json", "run/metrics.jsonl", "run/config.toml",
                           "run/history/run.json", "card.json"})
    EXPECT_TRUE(test::is_safe_text(test::file_text(*folder_ / file))) << file;
  EXPECT_THAT(test::file_text(*folder_ / "run/predictions.csv"), HasSubstr("caf\uFFFD.png"));
  EXPECT_THAT(test::file_text(*folder_ / "run/predictions.csv"), Not(HasSubstr(",=cmd")));
}

TEST_F(EveryCommand, ReportsAFullDiskAtStandardOutput) {
  // Real work of every command that prints a result, as text and as JSON; quick ones only. The work itself succeeds.
  const std::string sources = "--source a.safetensors --source b.safetensors --target numbered --batch 8 ";
  const std::string train = "train --data numbered --architecture lenet --epochs 1 --batch 8 --out ";
  const std::vector<std::pair<std::string, std::string>> prints = {
      {"train", train + "full.safetensors"},
      {"train", train + "json.safetensors --json"},
      {"adapt", "adapt " + sources + "--rounds 1 --inner-epochs 1 --run full"},
      {"adapt", "adapt " + sources + "--rounds 1 --inner-epochs 1 --run full --json"},  // finished
      {"suggest", "suggest full --count 2 --out full-labels.csv"},
      {"continue", "continue full --run full-again"},
      {"predict", "predict a.safetensors --data numbered"},
      {"predict", "predict full --data numbered --json"},
      {"evaluate", "evaluate full.safetensors --data numbered"},
      {"evaluate", "evaluate full.safetensors --data numbered --json"},
      {"distill", "distill full --target numbered --architecture lenet --epochs 1 --batch 8 --out full-s.safetensors"},
      {"export", "export full.safetensors --card full.json"},
      {"export", "export full.safetensors --card full.json --json"},
      {"report", "report full"},
      {"report", "report full --json"},
      {"inspect", "inspect a.safetensors --tensors"},
      {"inspect", "inspect full --json"},
      {"data", "data pack --data numbered --out full-shards"},
      {"data", "data make digits full-digits --pictures 1 --test-pictures 1"},
      {"bench", "bench speed --architecture lenet --pictures 8 --sources 1 --batch 8 --json"},
      {"demo", "demo --architecture lenet --pictures 20 --source-epochs 1 --rounds 1 --inner-epochs 1 --json"},
      {"options", "options"},
      {"options", "--version"},
  };
  std::set<std::string> names = commands();
  names.insert("options");
  std::set<std::string> covered;
  for (const auto& [name, arguments] : prints) {
    covered.insert(name);
    const test::Outcome full = test::run_forked_program(*folder_, arguments, "/dev/full");
    EXPECT_EQ(full.code, 1) << arguments << "\n" << full.err;
    EXPECT_THAT(full.err, HasSubstr("cannot write to standard output: No space left on device")) << arguments;
  }
  EXPECT_EQ(covered, names);
  for (const std::string& name : names)
    EXPECT_EQ(test::run_forked_program(*folder_, name + " --help", "/dev/full").code, 1) << name;
  EXPECT_TRUE(fs::exists(*folder_ / "full/DONE")) << "the work is kept";
  for (const char* arguments : {"inspect a.safetensors", "predict a.safetensors --data numbered", "--version",
                                "evaluate full.safetensors --data numbered --json"}) {
    EXPECT_EQ(test::run_forked_program(*folder_, arguments, "closed").code, 1) << arguments;
    EXPECT_EQ(test::run_forked_program(*folder_, arguments, "/dev/null").code, 0) << arguments;
    EXPECT_EQ(test::run_forked_program(*folder_, arguments, "broken pipe").code, 0) << arguments;
  }
}

TEST_F(EveryCommand, AcceptsAReaderThatNeedsNoMore) {
  const test::Outcome outcome = test::run_forked_program(*folder_, "options", "broken pipe");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(EveryCommand, TakesNoMemoryForAClaim) {
  // A picture of 65535 x 65535 in 16 bytes, a model whose header has 2^60 bytes, and a table nested 3000 times.
  folder_->write("huge-images.idx", std::string("\0\0\x08\x03\0\0\0\1\0\0\xff\xff\0\0\xff\xff", 16));
  folder_->write("huge.safetensors", std::string("\0\0\0\0\0\0\0\x10{}", 10));
  folder_->write("huge.toml", "a = " + std::string(3000, '[') + std::string(3000, ']') + "\n");
  folder_->write("huge/config.toml", "a = " + std::string(3000, '[') + "\n");
  const std::vector<std::pair<std::string, std::string>> uses = {
      {"adapt", "--source a.safetensors --target huge-images.idx --run huge-run"},
      {"adapt", "--source huge.safetensors --target pictures --run huge-run"},
      {"adapt", "--config huge.toml --source a.safetensors --target pictures --run huge-run"},
      {"bench", "huge.toml"},
      {"data", "pack --data huge-images.idx --out huge-shards"},
      {"data", "check huge.toml"},
      {"demo", "--config huge.toml"},
      {"distill", "a.safetensors --target huge-images.idx --out huge-student.safetensors"},
      {"distill", "huge.safetensors --target pictures --out huge-student.safetensors"},
      {"evaluate", "a.safetensors --data huge-images.idx"},
      {"evaluate", "huge.safetensors --data pictures"},
      {"export", "huge.safetensors --card huge.json"},
      {"inspect", "huge.safetensors"},
      {"predict", "a.safetensors --data huge-images.idx"},
      {"predict", "huge.safetensors --data pictures"},
      {"report", "huge"},
      {"suggest", "huge"},
      {"continue", "huge"},
      {"train", "--data huge-images.idx --architecture lenet --out huge-model.safetensors"},
      {"train", "--data numbered --init huge.safetensors --out huge-model.safetensors"}};
  const int64_t usual = test::run_forked_program(*folder_, "predict a.safetensors --data numbered").peak_bytes;
  std::set<std::string> covered;
  for (const auto& [command, arguments] : uses) {
    covered.insert(command);
    const test::Outcome outcome = test::run_forked_program(*folder_, command + " " + arguments);
    const std::string label = command + " " + arguments + "\n" + outcome.err;
    EXPECT_EQ(outcome.code, 2) << label;
    EXPECT_THAT(outcome.err, HasSubstr("huge")) << label;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << label;
    EXPECT_LT(outcome.peak_bytes - usual, int64_t{64} << 20) << label;
  }
  EXPECT_EQ(covered, commands());
}

// A run folder may come from a stranger, as an archive with links to files of the user.
TEST_F(EveryCommand, FollowsNoLinkInARunFolder) {
  const std::string adapt =
      "adapt --source a.safetensors b.safetensors --target numbered --batch 8 --rounds 1 "
      "--inner-epochs 1 --threads 1 --no-leave-dominated --run ";
  ASSERT_EQ(test::run_forked_program(*folder_, adapt + "linked").code, 0);
  folder_->write("list.txt", "numbered/0/a.png 0\nnumbered/1/a.png 1\n");
  // Every way of a command to write into the folder of a run, by default; none where there is none.
  const std::vector<std::pair<std::string, std::string>> uses = {
      {"adapt", adapt + "RUN"},
      {"adapt", adapt + "RUN --restart"},
      {"suggest", "suggest RUN --count 2"},
      {"suggest", "suggest RUN --count 2 --random"},
      {"continue", "continue RUN --run linked-on --restart"},
      {"report", "report RUN"},
      {"report", "report RUN --figure tsne"},
      {"distill", "distill RUN --architecture lenet --epochs 1 --batch 8"},
      {"predict", "predict RUN --data numbered"},
      {"evaluate", "evaluate RUN --data list.txt"},
      {"inspect", "inspect RUN"},
      {"export", "export RUN --card linked.json"},
      {"train", ""},
      {"data", ""},
      {"bench", ""},
      {"demo", ""}};  // of no run
  const auto copy_of_run = [] {
    remove_folder(*folder_ / "copy");
    fs::copy(*folder_ / "linked", *folder_ / "copy", fs::copy_options::recursive);
  };
  const auto contents = [] {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(*folder_ / "copy"))
      if (entry.is_regular_file()) all[fs::relative(entry.path(), *folder_ / "copy")] = test::file_text(entry.path());
    return all;
  };
  std::set<std::string> covered;
  int links = 0;
  for (const auto& [command, use] : uses) {
    covered.insert(command);
    if (use.empty()) continue;
    std::string arguments = use;
    arguments.replace(arguments.find("RUN"), 3, "copy");
    copy_of_run();
    const auto before = contents();
    const test::Outcome usual = test::run_forked_program(*folder_, arguments);
    EXPECT_EQ(usual.code, 0) << arguments << usual.err;
    for (const auto& [file, text] : contents()) {
      if (before.contains(file) && before.at(file) == text) continue;
      // Another file of the user in the place of what the command writes.
      copy_of_run();
      const std::string owned = folder_->write("owned", before.contains(file) ? before.at(file) : "picture,label\n");
      const std::string content = test::file_text(owned);
      fs::remove(*folder_ / ("copy/" + file));
      fs::create_symlink(owned, *folder_ / ("copy/" + file));
      const test::Outcome outcome = test::run_forked_program(*folder_, arguments);
      EXPECT_EQ(test::file_text(owned), content) << arguments << " follows " << file;
      EXPECT_EQ(outcome.code, 2) << arguments << " with " << file << "\n" << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr(file + " is a link")) << arguments;
      ++links;
    }
  }
  EXPECT_GE(links, 13);
  EXPECT_EQ(covered, commands());
}

TEST_F(EveryCommand, RefusesModelsThatComputeNan) {
  save_source(*folder_ / "variance.safetensors", broken_model("running_var", [](const Tensor& v) { return -1 - v; }));
  save_source(*folder_ / "zero-row.safetensors", broken_model("weight_v", [](const Tensor& v) { return v * 0; }));
  save_source(*folder_ / "huge.safetensors", broken_model("weight", [](const Tensor& v) { return v * 1e30; }));
  const auto described = [](SourceModel model) {
    ModelInfo info = model.info();
    info.normalisation.deviation = {1e-300, 1, 1};
    return SourceModel(info, Random(1));
  };
  save_source(*folder_ / "deviation.safetensors", described(SourceModel(test::small_info("dtn"), Random(3))));
  Ensemble mixture = test::small_ensemble({"dtn", "dtn"});
  mixture.mixture = {Combination::kWeightedLogits, torch::tensor({1e30F, 1e30F})};
  save_ensemble(*folder_ / "mixture.safetensors", mixture);

  // Commands that load a model, and whether they also compute with it.
  const std::map<std::string, std::pair<std::string, bool>> uses = {
      {"predict", {"predict MODEL --data pictures", true}},
      {"evaluate", {"evaluate MODEL --data pictures", true}},
      {"adapt", {"adapt --source MODEL --target pictures --max-skipped 0.2 --run nan", true}},
      {"distill", {"distill MODEL --target pictures --max-skipped 0.2 --out s.safetensors --epochs 1", true}},
      {"export", {"export MODEL --card c.json", false}},
      {"inspect", {"inspect MODEL", false}},
      {"train", {"train --data numbered --init MODEL --epochs 1 --out nan.safetensors", true}},
      {"report", {"", false}},
      {"suggest", {"", false}},
      {"continue", {"", false}},
      {"data", {"", false}},
      {"bench", {"", false}},
      {"demo", {"", false}}};
  std::set<std::string> covered;
  for (const auto& [command, use] : uses) {
    covered.insert(command);
    for (const char* model : {"variance", "zero-row", "huge", "deviation", "mixture"}) {
      const std::string kind = model;
      std::string arguments = use.first;
      if (arguments.empty()) continue;
      if (kind == "huge" && !use.second) continue;
      if (kind == "mixture" && (command == "adapt" || command == "train")) continue;  // they take sources
      if (kind == "zero-row" && command == "train") continue;                         // takes the backbone only
      if (kind == "deviation" && command == "train") continue;
      const std::string file = kind + ".safetensors";
      arguments.replace(arguments.find("MODEL"), 5, file);
      if (command == "evaluate") arguments.replace(arguments.find("pictures"), 8, "numbered");
      const test::Outcome outcome = test::run_forked_program(*folder_, arguments);
      EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr(file)) << arguments;
      EXPECT_THAT(outcome.out, Not(HasSubstr("nan"))) << arguments;
      for (const char* result : {"nan/DONE", "nan.safetensors", "s.safetensors"})
        EXPECT_FALSE(fs::exists(*folder_ / result)) << arguments;
    }
  }
  // bench leaves the work to further processes; suggest and continue take the models of finished runs; demo, report and
  // data read no model.
  const test::Outcome bench = test::run_program(
      *folder_,
      "bench digits --init variance.safetensors --architecture dtn --pictures 30 --methods shot --targets "
      "street --source-epochs 1 --epochs 1 --threads 1 --out nan-table");
  EXPECT_EQ(bench.code, 1);
  EXPECT_THAT(bench.err, HasSubstr("variance.safetensors: tensor"));
  EXPECT_EQ(covered, commands());
}

}  // namespace
}  // namespace tributary

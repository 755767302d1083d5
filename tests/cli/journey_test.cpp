// End-to-end use of the real program: from pictures to sources, an adapted model and predictions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/support/forked_program.h"
#include "tributary/model/backbone.h"

namespace tributary {
namespace {

using nlohmann::json;
using test::file_text;
using test::Outcome;
using test::run_forked_program;
using test::run_program;
using test::TempDir;
using ::testing::HasSubstr;

constexpr const char* kQuick = " --rounds 2 --inner-epochs 1 --weight-steps 50 --threads 2 --no-leave-dominated";

// Digits of five domains and two source models, made once for all tests.
class Journey : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    expect_success("data make digits digits --pictures 200 --test-pictures 100");
    trained_ = expect_success(
                   "train --data digits/handwriting/train-images.idx --validation digits/handwriting/test-images.idx "
                   "--architecture lenet --epochs 6 --out handwriting.safetensors --threads 2")
                   .err;
    expect_success(
        "train --data digits/signs/train-images.idx --architecture dtn --epochs 2 --out signs.safetensors "
        "--threads 2");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static Outcome expect_success(const std::string& arguments) {
    Outcome outcome = run_forked_program(*folder_, arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }
  static std::string path(const std::string& name) { return *folder_ / name; }

  static TempDir* folder_;
  static std::string trained_;  // the messages of the first training
};

TempDir* Journey::folder_ = nullptr;
std::string Journey::trained_;

const char* const kSources = " --source handwriting.safetensors --source signs.safetensors";

TEST_F(Journey, TrainingShowsItsProgressWithoutATerminal) {
  EXPECT_THAT(trained_, HasSubstr("train handwriting   50 %  validation "));
  EXPECT_THAT(trained_, HasSubstr("train handwriting  100 %  validation "));
  EXPECT_LE(std::count(trained_.begin(), trained_.end(), '\n'), 11) << trained_;
}

TEST_F(Journey, AdaptsTwoSourcesToUnlabelledPictures) {
  const Outcome adapted =
      run_program(*folder_, "adapt" + std::string(kSources) +
                                " --target digits/postal/train-images.idx --run runs/postal" + kQuick);
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  EXPECT_THAT(adapted.out, HasSubstr("runs/postal/model.safetensors"));
  for (const char* name :
       {"config.toml", "metrics.jsonl", "model.safetensors", "predictions.csv", "summary.json", "DONE"})
    EXPECT_TRUE(std::filesystem::exists(path("runs/postal/") + name)) << name;

  std::istringstream metrics(file_text(path("runs/postal/metrics.jsonl")));
  std::string line;
  int rounds = 0;
  while (std::getline(metrics, line)) {
    const json round = json::parse(line);
    EXPECT_EQ(round.at("round"), rounds++);
    EXPECT_EQ(round.at("weights").size(), 2u);
  }
  EXPECT_EQ(rounds, 3);

  const json evaluated =
      json::parse(expect_success("evaluate runs/postal --data digits/postal/test-images.idx --json").out);
  EXPECT_EQ(evaluated.at("pictures"), 100);
  EXPECT_EQ(evaluated.at("sources").size(), 2u);
  int64_t right = 0;
  for (size_t k = 0; k < 10; ++k) right += evaluated.at("confusion")[k][k].get<int64_t>();
  EXPECT_NEAR(evaluated.at("accuracy").get<double>(), static_cast<double>(right), 1e-9);

  // The predictions of the run are those of its model.
  expect_success("predict runs/postal --data digits/postal/train-images.idx --out again.csv --threads 2");
  EXPECT_EQ(file_text(path("again.csv")), file_text(path("runs/postal/predictions.csv")));
}

TEST_F(Journey, SameSeedAndThreadsGiveTheSameBytes) {
  for (const char* run : {"one", "two"})
    expect_success("adapt" + std::string(kSources) + " --target digits/textured/train-images.idx --seed 5 --run " +
                   run + kQuick);
  EXPECT_EQ(file_text(path("one/predictions.csv")), file_text(path("two/predictions.csv")));
  EXPECT_EQ(file_text(path("one/model.safetensors")), file_text(path("two/model.safetensors")));
}

TEST_F(Journey, FinishedRunsAreReportedAndOtherConfigurationsRejected) {
  const std::string command =
      "adapt" + std::string(kSources) + " --target digits/street/test-images.idx --run runs/street" + kQuick;
  expect_success(command);
  const std::string before = file_text(path("runs/street/metrics.jsonl"));
  const Outcome again = expect_success(command);
  EXPECT_THAT(again.err, HasSubstr("already finished"));
  EXPECT_THAT(again.out, HasSubstr("runs/street/model.safetensors"));
  EXPECT_EQ(file_text(path("runs/street/metrics.jsonl")), before);
  const Outcome other = run_forked_program(*folder_, command + " --seed 9");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("holds another run (seed: 0 there, 9 here)"));
}

TEST_F(Journey, ConfigurationOfARunReproducesIt) {
  expect_success("adapt" + std::string(kSources) +
                 " --target digits/postal/test-images.idx --lambda-alpha 0.7 --run a" + kQuick);
  expect_success("adapt --config a/config.toml --run b");
  EXPECT_EQ(file_text(path("a/config.toml")), file_text(path("b/config.toml")));
  EXPECT_EQ(file_text(path("a/predictions.csv")), file_text(path("b/predictions.csv")));
}

TEST_F(Journey, FoldersAndListsGiveTheResultsOfIdx) {
  expect_success("data make digits png --pictures 30 --test-pictures 20 --format png");
  const json by_folder =
      json::parse(expect_success("evaluate handwriting.safetensors --data png/handwriting/test --json").out);
  expect_success("data make digits idx --pictures 30 --test-pictures 20");
  const json by_idx =
      json::parse(expect_success("evaluate handwriting.safetensors --data idx/handwriting/test-images.idx --json").out);
  EXPECT_EQ(by_folder.at("accuracy"), by_idx.at("accuracy"));
  EXPECT_EQ(by_folder.at("confusion"), by_idx.at("confusion"));
  std::string list;
  for (const auto& entry : std::filesystem::directory_iterator(path("png/handwriting/test/3")))
    list += "handwriting/test/3/" + entry.path().filename().string() + " 3\n";
  folder_->write("threes.txt", list);
  const json by_list =
      json::parse(expect_success("evaluate handwriting.safetensors --data threes.txt --root png --json").out);
  EXPECT_EQ(by_list.at("pictures"), 2);
  EXPECT_THAT(expect_success("predict handwriting.safetensors --data png/handwriting/test/3").out,
              HasSubstr("path,class,confidence,agreement,error\n"));
}

TEST_F(Journey, EvaluatesAPlainEnsembleWithAnyRule) {
  const std::string command =
      "evaluate handwriting.safetensors signs.safetensors --data digits/postal/test-images.idx --json";
  const json mean = json::parse(expect_success(command).out);
  const json vote = json::parse(expect_success(command + " --rule vote").out);
  EXPECT_EQ(mean.at("sources"), vote.at("sources"));
}

TEST_F(Journey, CollapsedAdaptationWarnsAndKeepsBothModels) {
  const std::string adapt =
      "adapt" + std::string(kSources) + " --target digits/postal/train-images.idx --variant recommended" + kQuick;
  const Outcome sound = expect_success(adapt + " --run runs/sound --no-report");
  EXPECT_THAT(sound.out, ::testing::Not(HasSubstr("WARNING")));
  EXPECT_FALSE(std::filesystem::exists(path("runs/sound/unadapted.safetensors")));

  const Outcome collapsed =
      expect_success(adapt + " --keep last --run runs/collapsed --rate-backbone 2 --rate-bottleneck 2");
  EXPECT_THAT(collapsed.out, HasSubstr("WARNING      this adaptation may have made things worse: "));
  EXPECT_THAT(file_text(path("runs/collapsed/report.html")), HasSubstr("This adaptation may have made things worse"));
  // The unadapted model is the state of round 0.
  const auto accuracy = [&](const std::string& model) {
    return json::parse(expect_success("evaluate " + model + " --data digits/postal/train-images.idx --json").out)
        .at("accuracy")
        .get<double>();
  };
  const json tested = json::parse(expect_success(adapt + " --run runs/tested --no-report --json --test "
                                                         "digits/postal/train-images.idx")
                                      .out);
  EXPECT_DOUBLE_EQ(accuracy("runs/collapsed/unadapted.safetensors"), tested.at("accuracy").at("rounds")[0]);
  EXPECT_LT(accuracy("runs/collapsed"), accuracy("runs/sound"));

  // The label-free rule hands back an earlier round, and says so.
  const Outcome kept = expect_success(adapt +
                                      " --run runs/kept --rate-backbone 2 --rate-bottleneck 2 --keep label-free "
                                      "--test digits/postal/train-images.idx");
  EXPECT_THAT(kept.out, HasSubstr("\nkept         round 0: round 2 was rejected: "));
  EXPECT_THAT(kept.out, HasSubstr("% in round 0, which was kept; "));
  EXPECT_THAT(kept.out, HasSubstr(fmt::format("accuracy     {0:.1f} → {0:.1f} % in",
                                              tested.at("accuracy").at("rounds")[0].get<double>())));
  EXPECT_THAT(kept.err, HasSubstr("  changed  accuracy  pictures/s "));
  EXPECT_THAT(kept.out, ::testing::Not(HasSubstr("WARNING")));
  EXPECT_DOUBLE_EQ(accuracy("runs/kept"), tested.at("accuracy").at("rounds")[0]);
  EXPECT_THAT(file_text(path("runs/kept/report.html")), HasSubstr("\"kept\":{\"reason\":\"round 2 was rejected: "));
  expect_success("predict runs/kept --data digits/postal/train-images.idx --out kept.csv --threads 2");
  EXPECT_EQ(file_text(path("kept.csv")), file_text(path("runs/kept/predictions.csv")));
}

TEST_F(Journey, OracleUsesLabelsAndIsMarked) {
  expect_success(
      "adapt" + std::string(kSources) +
      " --target digits/postal/train-images.idx --oracle-labels digits/postal/train-images.idx --run oracle" + kQuick);
  EXPECT_EQ(json::parse(file_text(path("oracle/summary.json"))).at("method"), "selective-oracle");
}

TEST_F(Journey, InspectShowsTheContentsOfAFile) {
  const json source = json::parse(expect_success("inspect signs.safetensors --json").out);
  EXPECT_EQ(source.at("kind"), "source");
  EXPECT_EQ(source.at("sources")[0].at("name"), "signs");
  EXPECT_EQ(source.at("sources")[0].at("architecture"), "dtn");
  EXPECT_EQ(source.at("sources")[0].at("parameters"), 2082068);
  EXPECT_EQ(source.at("classes").size(), 10u);
  EXPECT_THAT(expect_success("inspect signs.safetensors --tensors").out, HasSubstr("backbone.conv_params.0.weight"));
}

TEST_F(Journey, InspectReadsPyTorchFilesWithoutRunningCode) {
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  folder_->write(
      "save.py",
      "import torch\n"
      "torch.save({'epoch': 3, 'state_dict': {'module.fc.weight': torch.zeros(4, 2)}}, 'new.pt')\n"
      "torch.save({'fc.weight': torch.zeros(4, 2).half()}, 'old.pt', _use_new_zipfile_serialization=False)\n");
  const std::string save =
      "cd " + test::shell_quoted(folder_->path()) + " && " + test::shell_quoted(*python) + " save.py";
  ASSERT_EQ(std::system(save.c_str()), 0);
  const Outcome shown = run_forked_program(*folder_, "inspect new.pt --json");
  EXPECT_EQ(shown.code, 2) << "an unknown network";
  const json zip = json::parse(shown.out);
  EXPECT_EQ(zip.at("format"), "pytorch-zip");
  EXPECT_EQ(zip.at("tensors")[0].at("name"), "fc.weight");
  EXPECT_EQ(zip.at("ignored"), json({"epoch"}));
  const json legacy = json::parse(run_forked_program(*folder_, "inspect old.pt --json").out);
  EXPECT_EQ(legacy.at("format"), "pytorch-legacy");
  EXPECT_EQ(legacy.at("tensors")[0].at("dtype"), "F16");
  EXPECT_THAT(run_forked_program(*folder_, "inspect new.pt --tensors").out, HasSubstr("4 x 2"));
}

TEST_F(Journey, DemoPrintsItsTableAsTextAndJson) {
  const std::string small =
      "demo --pictures 60 --source-epochs 1 --rounds 1 --weight-steps 20 --threads 2 --oracle --seeds 2 --target "
      "street";
  const json result = json::parse(expect_success(small + " --json").out);
  ASSERT_EQ(result.at("rows").size(), 1u);
  const json& row = result.at("rows")[0];
  EXPECT_EQ(row.at("target"), "street");
  EXPECT_EQ(row.at("sources").size(), 4u);
  for (const char* key : {"source_ensemble", "adapted", "oracle"}) {
    EXPECT_TRUE(row.at(key).is_number()) << key;
    EXPECT_EQ(result.at("mean").at(key), row.at(key));
  }
  const Outcome text = expect_success(small);
  EXPECT_THAT(text.out, HasSubstr("source ensemble"));
  EXPECT_THAT(text.out, HasSubstr("±"));
  EXPECT_THAT(text.err, HasSubstr("\nthe selective oracle:\nround  confident "));
}

TEST_F(Journey, OptionsPageIsUpToDate) {
  EXPECT_EQ(expect_success("options").out, file_text(TRIBUTARY_SOURCE_DIR "/docs/options.md"))
      << "update it with: build/tributary options > docs/options.md";
}

TEST_F(Journey, OptionsAreExplainedInWords) {
  const std::vector<std::string> commands = {"demo",   "train",  "adapt",   "predict", "evaluate",  "distill",
                                             "export", "report", "inspect", "bench",   "data pack", "data check"};
  std::vector<std::string> texts = {expect_success("options").out};
  for (const std::string& command : commands) {
    texts.push_back(expect_success(command + " --help").out);
    if (texts.back().find("--help-all") != std::string::npos)
      texts.push_back(expect_success(command + " --help-all").out);
  }
  const std::regex code(R"(\([A-Z]\d+\))"), type(R"(\s--?[a-z-]+ (TEXT|INT|UINT|FLOAT|STRING|VALUE)\b)");
  for (const std::string& text : texts) {
    std::smatch found;
    EXPECT_FALSE(std::regex_search(text, found, code)) << "a code that readers cannot know: " << found.str();
    EXPECT_FALSE(std::regex_search(text, found, type)) << "a type, not what is meant: " << found.str();
  }
  for (const char* flag : {"--source FILE ...", "--target DATA", "--run FOLDER", "--rounds COUNT", "--config FILE",
                           "--save-every SECONDS", "--batch COUNT                 pictures per batch"})
    EXPECT_THAT(expect_success("adapt --help").out, HasSubstr(flag));
  EXPECT_THAT(expect_success("--help").out, HasSubstr("Classify pictures"));
}

TEST_F(Journey, HelpIsShortAndPointsToTheFullHelp) {
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  for (const std::string command : {"demo", "train", "adapt", "predict", "evaluate", "suggest", "continue", "distill",
                                    "export", "report", "inspect", "bench"}) {
    const std::string help = expect_success(command + " --help").out;
    EXPECT_LT(lines(help), 75) << command;
    EXPECT_THAT(help, HasSubstr("--help-all")) << command;
    EXPECT_GT(lines(expect_success(command + " --help-all").out), lines(help)) << command;
  }
  EXPECT_THAT(expect_success("adapt --method bait --help").out, HasSubstr("--bait-rate NUMBER"));
  EXPECT_THAT(expect_success("adapt --method aad --help").out, HasSubstr("--aad-neighbours COUNT"));
  EXPECT_THAT(expect_success("adapt --method cowa --help").out, HasSubstr("--cowa-alpha NUMBER"));
  EXPECT_EQ(expect_success("adapt --help").out.find("--bait-rate"), std::string::npos);
  for (const char* flag : {"--classes FILE", "--size PIXELS", "--trust", "--last-layer LAYER"})
    EXPECT_THAT(expect_success("adapt --help").out, HasSubstr(flag)) << "what imported weights need";
}

TEST_F(Journey, FullHelpListsTheNetworks) {
  const std::string help = expect_success("train --help-all").out;
  for (const std::string& name : architecture_names())
    EXPECT_TRUE(std::regex_search(help, std::regex("\\b" + name + "\\b"))) << name;
  EXPECT_THAT(expect_success("continue --help").out, HasSubstr("RUN-continued"));
}

TEST_F(Journey, AliasesGiveTheSameRun) {
  // Run folders from before the options were renamed have the old names in config.toml.
  const std::string command =
      "adapt" + std::string(kSources) + " --target digits/street/test-images.idx --run runs/old-names" + kQuick;
  expect_success(command + " --reading paper --no-record --max-bad 0.2");
  std::string config = file_text(path("runs/old-names/config.toml"));
  for (const auto& [name, old_name] : {std::pair("variant = ", "reading = "), std::pair("cuda_graph = ", "record = "),
                                       std::pair("max_skipped = ", "max_bad = ")}) {
    const size_t at = config.find(std::string("\n") + name);
    ASSERT_NE(at, std::string::npos) << name;
    config.replace(at + 1, std::string(name).size(), old_name);
  }
  folder_->write("runs/old-names/config.toml", config);
  EXPECT_THAT(expect_success(command + " --variant paper --no-cuda-graph --max-skipped 0.2").err,
              HasSubstr("already finished"));
}

TEST_F(Journey, EveryHelpTextHasAnExample) {
  for (const char* command :
       {"demo", "train", "adapt", "predict", "evaluate", "distill", "export", "inspect", "data", "bench"}) {
    const Outcome help = expect_success(std::string(command) + " --help");
    EXPECT_THAT(help.out, HasSubstr("Example:")) << command;
    EXPECT_THAT(help.out, HasSubstr(std::string("tributary ") + command)) << command;
  }
  for (const std::string action : {"data check", "data pack"})
    EXPECT_THAT(expect_success(action + " --help").out, HasSubstr("Example:\n  tributary " + action + " "));
  EXPECT_THAT(expect_success("--version").out, HasSubstr("tributary 0."));
}

}  // namespace
}  // namespace tributary

// A few labels with the real program, as docs/labels.md has it: suggest, label, continue, audit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/documentation.h"
#include "tests/support/forked_program.h"
#include "tributary/base/csv.h"
#include "tributary/data/label_file.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::file_text;
using test::Outcome;
using test::run_forked_program;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LabelsJourney : public ::testing::Test {
 protected:
  // A finished run on pictures in a flat folder, as a user has them; their class folders stay beside it.
  static void SetUpTestSuite() {
    prepared_ = new test::PreparedDir({
        "data make digits digits --pictures 40 --test-pictures 10 --format png",
        "train --data digits/signs/train --architecture lenet --epochs 1 --threads 1 --out signs.safetensors",
        "train --data digits/street/train --architecture lenet --epochs 1 --threads 1 --out street.safetensors",
    });
    for (const auto& entry : fs::recursive_directory_iterator(*prepared_ / "digits/postal/train")) {
      if (!entry.is_regular_file()) continue;
      fs::create_directories(*prepared_ / "photos");
      fs::copy(entry.path(), fs::path(*prepared_ / "photos") / entry.path().filename());
      truth_[entry.path().filename().string()] = entry.path().parent_path().filename().string();
    }
    const Outcome run = run_forked_program(
        *prepared_,
        "adapt --source signs.safetensors street.safetensors --target photos --run runs/photos --rounds 1 "
        "--inner-epochs 1 --weight-steps 20 --batch 16 --threads 1 --no-leave-dominated --no-report");
    if (run.code != 0) throw std::runtime_error(run.err);
  }
  static void TearDownTestSuite() {
    delete prepared_;
    prepared_ = nullptr;
  }

  static Outcome run(const std::string& arguments) { return run_forked_program(*prepared_, arguments); }
  static Outcome succeed(const std::string& arguments) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }
  // A person fills in the labels.
  static void fill(const std::string& file, bool all = true) {
    std::vector<LabelRow> rows = read_label_file(*prepared_ / file);
    for (size_t i = 0; i < rows.size(); ++i)
      if (all || i + 1 < rows.size()) rows[i].label = truth_.at(fs::path(rows[i].picture).filename().string());
    prepared_->write(file, label_file_text(rows));
  }

  inline static test::PreparedDir* prepared_ = nullptr;
  inline static std::map<std::string, std::string> truth_;
};

TEST_F(LabelsJourney, RunsAsDocumented) {
  const auto blocks = test::code_blocks(std::string(TRIBUTARY_SOURCE_DIR) + "/docs/labels.md");
  const std::vector<std::string> lines = test::lines_of(blocks.front().text);
  ASSERT_EQ(lines.size(), 4u);
  const auto documented = [&](size_t line) { return lines[line].substr(10, lines[line].find('#') - 10); };
  const std::string quick = " --threads 1";

  EXPECT_THAT(succeed(documented(0) + quick).out, HasSubstr("runs/photos/labels.csv: 20 pictures; fill in the column"));
  EXPECT_THAT(file_text(*prepared_ / "runs/photos/labels.html"), HasSubstr("\"kind\":\"labels\""));
  EXPECT_THAT(run(documented(1) + quick).err, HasSubstr("runs/photos/labels.csv has no label; fill in the column"));
  fill("runs/photos/labels.csv");
  succeed(documented(1) + quick + " --no-report");
  const json summary = json::parse(file_text(*prepared_ / "runs/photos-continued/summary.json"));
  EXPECT_EQ(summary.at("given_labels"), 20);
  EXPECT_TRUE(summary.at("estimate").at("after").is_null()) << "its sources were adapted together";
  EXPECT_EQ(summary.at("verdict").at("decision"), "check") << summary.at("verdict").dump();
  EXPECT_EQ(read_label_file(*prepared_ / "runs/photos-continued/given_labels.csv").size(), 20u);

  succeed("suggest runs/photos --random --count 12" + quick);
  EXPECT_THAT(run(documented(3)).err, HasSubstr("runs/photos/audit.csv has no label"));
  fill("runs/photos/audit.csv", /*all=*/false);
  EXPECT_THAT(succeed(documented(3)).out, ::testing::ContainsRegex("accuracy .* with 95 % confidence between .* and"));
  const json audit = json::parse(succeed("evaluate runs/photos --audit runs/photos/audit.csv --json").out);
  EXPECT_EQ(audit.at("labelled"), 11);
  EXPECT_LT(audit.at("low"), audit.at("high"));
  // Pictures that the continued run has trained on do not measure it.
  const json later = json::parse(succeed("evaluate runs/photos-continued --audit runs/photos/audit.csv --json").out);
  EXPECT_EQ(later.at("labelled").get<int>() + later.at("trained").get<int>(), 11);
  EXPECT_GT(later.at("trained"), 0);

  // An audit sample never trains, and its pictures are not suggested.
  EXPECT_THAT(run("continue runs/photos --labels runs/photos/audit.csv --run runs/x").err,
              HasSubstr("runs/photos/audit.csv is an audit sample"));
  succeed("suggest runs/photos --count 5 --out new/more.csv" + quick);
  const std::vector<LabelRow> audited = read_label_file(*prepared_ / "runs/photos/audit.csv");
  for (const LabelRow& row : read_label_file(*prepared_ / "new/more.csv"))
    for (const LabelRow& other : audited) EXPECT_NE(row.picture, other.picture);
}

TEST_F(LabelsJourney, ContinuesWithSourcesOfOtherClasses) {
  prepared_->write("nine.txt", "9 = nine\n");
  const std::string quick = " --rounds 1 --inner-epochs 1 --weight-steps 20 --batch 16 --threads 1 --no-report";
  succeed("adapt --source signs.safetensors street.safetensors:classes=nine.txt --target photos --run runs/nine" +
          quick);
  succeed("suggest runs/nine --count 4 --threads 1");
  fill("runs/nine/labels.csv");
  succeed("continue runs/nine --labels runs/nine/labels.csv" + quick);
  const json summary = json::parse(file_text(*prepared_ / "runs/nine-continued/summary.json"));
  EXPECT_EQ(summary.at("known_by").at("nine"), json({"street"}));
}

TEST_F(LabelsJourney, ContinuesARunOfImportedWeights) {
  // Options that describe the weights belong to the first run: the adapted models hold them.
  for (const std::string name : {"signs", "street"})
    succeed("export " + name + ".safetensors --state-dict " + name + ".pth");
  prepared_->write("digits.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  succeed(
      "adapt --source signs.pth street.pth --classes digits.txt --size 32 --mean 0.5,0.5,0.5 --target photos --run "
      "runs/imported --rounds 1 --inner-epochs 1 --weight-steps 20 --batch 16 --threads 1 --no-leave-dominated "
      "--no-report");
  succeed("suggest runs/imported --count 4 --threads 1");
  fill("runs/imported/labels.csv");
  const std::string further = "continue runs/imported --labels runs/imported/labels.csv --threads 1";
  EXPECT_THAT(run(further + " --size 32").err, HasSubstr("--size describes weights of other programs"));
  const Outcome continued = succeed(further);
  EXPECT_THAT(continued.out, HasSubstr("\nreport       runs/imported-continued/report.html\n"));
  const json before = json::parse(succeed("inspect runs/imported --json").out);
  const json after = json::parse(succeed("inspect runs/imported-continued --json").out);
  EXPECT_EQ(after.at("classes"), before.at("classes"));
  EXPECT_EQ(after.at("sources")[0].at("mean"), before.at("sources")[0].at("mean"));
  EXPECT_EQ(after.at("sources")[0].at("mean")[0], 0.5);
}

TEST_F(LabelsJourney, RefusesInOneSentence) {
  const std::string adapt =
      "adapt --source signs.safetensors street.safetensors --target photos --run runs/refused --labels ";
  const auto refusal = [&](const std::string& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  };
  const std::string some = truth_.begin()->first;
  prepared_->write("bad/picture.csv", "picture,label\nnowhere.png,1\n");
  EXPECT_THAT(refusal(adapt + "bad/picture.csv"), HasSubstr("bad/picture.csv:2: nowhere.png is not among the target"));
  prepared_->write("bad/class.csv", "picture,label\n" + some + ",eleven\n");
  EXPECT_THAT(refusal(adapt + "bad/class.csv"), HasSubstr("eleven is not a class of the models"));
  prepared_->write("bad/two.csv", "picture,label\n" + some + ",1\nphotos/" + some + ",2\n");
  EXPECT_THAT(refusal(adapt + "bad/two.csv"), HasSubstr("give each picture one label"));
  EXPECT_THAT(refusal(adapt + "bad/two.csv --method shot"), HasSubstr("--labels has no effect with --method shot"));
  EXPECT_THAT(refusal(adapt + "bad/none.csv"), HasSubstr("bad/none.csv"));
  EXPECT_FALSE(fs::exists(*prepared_ / "runs/refused"));
  EXPECT_THAT(refusal("suggest runs/photos --count 1000 --out many.csv"), HasSubstr("have no label yet"));
  EXPECT_THAT(refusal("suggest runs/photos --count 5001 --out many.csv"), HasSubstr("at most 5,000 can be suggested"));
  EXPECT_THAT(refusal("suggest runs/none"), StartsWith("tributary suggest: "));
  EXPECT_THAT(refusal("continue runs/photos --target other --labels bad/two.csv"),
              HasSubstr("--target is that of the run"));
  prepared_->write("full.csv", "picture,label\n" + some + ",1\n");
  EXPECT_THAT(refusal("suggest runs/photos --out full.csv"), HasSubstr("full.csv has 1 label; name another file"));
  EXPECT_EQ(file_text(*prepared_ / "full.csv"), "picture,label\n" + some + ",1\n");
}

}  // namespace
}  // namespace tributary

// Sources that are only predictions with the real program, as docs/scores.md has it: from a site's scores to a result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/documentation.h"
#include "tests/support/forked_program.h"
#include "tests/support/python.h"
#include "tributary/data/image/encode_png.h"
#include "tributary/io/score_file.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::file_text;
using test::Outcome;
using test::run_forked_program;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Small digits and few steps.
const std::string kScoresQuick =
    " --rounds 2 --inner-epochs 1 --student-epochs 2 --weight-steps 20 --batch 16 --threads 1 --no-leave-dominated";

class ScoresJourney : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string train = "train --architecture lenet --epochs 3 --threads 1 --data digits/";
    prepared_ = new test::PreparedDir({
        "data make digits digits --pictures 40 --test-pictures 10 --format png",
        train + "signs/train --out hospital-a.safetensors --name hospital-a",
        train + "street/train --out hospital-b.safetensors --name hospital-b",
        train + "handwriting/train --out clinic.safetensors --name clinic",
    });
    // A flat folder, as users have it; the names end in the class.
    for (const auto& entry : fs::recursive_directory_iterator(*prepared_ / "digits/postal/train")) {
      if (!entry.is_regular_file()) continue;
      fs::create_directories(*prepared_ / "photos");
      const std::string name = entry.path().stem().string() + "-" + entry.path().parent_path().filename().string();
      fs::copy(entry.path(), fs::path(*prepared_ / "photos") / (name + ".png"));
    }
    succeed("predict clinic.safetensors --data photos --scores clinic.csv");
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
  static json summary(const std::string& run) { return json::parse(file_text(*prepared_ / (run + "/summary.json"))); }
  static std::set<std::string> tree() {
    std::set<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(prepared_->path())) paths.insert(entry.path().string());
    return paths;
  }

  inline static test::PreparedDir* prepared_ = nullptr;
};

TEST_F(ScoresJourney, RunsAsDocumented) {
  const auto python = test::python_with("numpy");
  std::map<std::string, std::string> printed;
  for (const test::CodeBlock& block : test::code_blocks(std::string(TRIBUTARY_SOURCE_DIR) + "/docs/scores.md")) {
    if (block.language == "python") {
      prepared_->write(test::lines_of(block.text).front().substr(2), block.text);
      continue;
    }
    for (const std::string& command : test::lines_of(block.text)) {
      if (command.starts_with("python3")) {
        if (!python) GTEST_SKIP() << "skipped: no python3-numpy";
        const std::string all = "cd " + test::shell_quoted(prepared_->path()) + " && " + test::shell_quoted(*python) +
                                command.substr(std::string("python3").size());
        ASSERT_EQ(std::system(all.c_str()), 0) << command;
        continue;
      }
      ASSERT_THAT(command, StartsWith("tributary "));
      const std::string arguments = command.substr(std::string("tributary ").size());
      printed[command] = succeed(arguments + (arguments.starts_with("adapt") ? kScoresQuick : "")).out;
    }
  }
  EXPECT_THAT(printed.at("tributary inspect hospital-b.npz"),
              HasSubstr("hospital-b.npz: npz, scores, probabilities of 40 pictures, 10 classes (0, 1, 2"));
  const json mixed = summary("runs/photos").at("sources"), boxes = summary("runs/boxes").at("sources");
  ASSERT_EQ(mixed.size(), 3u);
  EXPECT_EQ(mixed[0].at("name"), "hospital-a");
  EXPECT_EQ(mixed[1].at("name"), "hospital-b (scores)");
  EXPECT_EQ(mixed[1].at("file"), "hospital-b.npz");
  EXPECT_EQ(mixed[1].at("scores"), true);
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(boxes[0].at("name"), "student");
  EXPECT_EQ(boxes[0].at("student"), true);
  EXPECT_EQ(boxes[2].at("name"), "clinic (scores)");
  EXPECT_THAT(
      file_text(*prepared_ / "runs/photos/predictions.csv"),
      StartsWith("path,class,confidence,agreement,hospital-a,hospital-b (scores),clinic (scores),check,error\n"));
  EXPECT_THAT(file_text(*prepared_ / "runs/photos/report.html"), HasSubstr("clinic (scores)"));
  EXPECT_THAT(file_text(*prepared_ / "runs/photos/config.toml"), HasSubstr("hospital-b.npz"));
  // The model holds no fixed source, and needs no scores to classify other pictures.
  const json model = json::parse(succeed("inspect runs/photos --json").out);
  ASSERT_EQ(model.at("sources").size(), 1u);
  EXPECT_EQ(model.at("sources")[0].at("name"), "hospital-a");
  succeed("predict runs/boxes --data digits/postal/test --out other.csv");
  EXPECT_TRUE(fs::exists(*prepared_ / "photos.onnx"));
}

TEST_F(ScoresJourney, PredictionsAreThoseOfTheDeployedModel) {
  succeed("adapt --source hospital-a.safetensors clinic.csv --target photos --run runs/deployed --no-report" +
          kScoresQuick);
  const auto column = [](const std::string& csv, size_t number) {
    std::vector<std::string> cells;
    for (const std::string& line : test::lines_of(csv)) {
      size_t begin = 0;
      for (size_t i = 0; i < number; ++i) begin = line.find(',', begin) + 1;
      cells.push_back(line.substr(begin, line.find(',', begin) - begin));
    }
    return cells;
  };
  const std::string adapted = file_text(*prepared_ / "runs/deployed/predictions.csv");
  const std::string predicted = succeed("predict runs/deployed --data photos").out;
  EXPECT_EQ(column(adapted, 1), column(predicted, 1));
  const std::vector<std::string> confidence = column(adapted, 2), again = column(predicted, 2);
  for (size_t i = 1; i < confidence.size(); ++i) EXPECT_NEAR(std::stod(confidence[i]), std::stod(again[i]), 1e-5) << i;
}

TEST_F(ScoresJourney, EveryFormatGivesTheSameRun) {
  std::string first;
  for (const char* ending : {"csv", "npy", "npz"}) {
    const std::string file = std::string("same.") + ending;
    succeed("predict hospital-b.safetensors --data photos --scores " + file);
    succeed("adapt --source hospital-a.safetensors " + file + " --target photos --run runs/" + ending + " --no-report" +
            kScoresQuick);
    const std::string predictions = file_text(*prepared_ / (std::string("runs/") + ending + "/predictions.csv"));
    if (first.empty()) first = predictions;
    EXPECT_EQ(predictions, first) << ending;
  }
}

TEST_F(ScoresJourney, AStudentTakesTheClassesThatModelsLack) {
  prepared_->write("new.txt", "7 = seven\n8 = eight\n9 = nine\n");
  succeed("adapt --source hospital-a.safetensors clinic.csv:classes=new.txt --target photos --run runs/classes" +
          kScoresQuick);
  const json model = json::parse(succeed("inspect runs/classes --json").out);
  EXPECT_EQ(model.at("classes").size(), 13u);
  ASSERT_EQ(model.at("sources").size(), 2u);
  EXPECT_EQ(model.at("sources")[1].at("name"), "student");
  EXPECT_EQ(summary("runs/classes").at("known_by").at("nine"), json({"clinic (scores)"}));
}

TEST_F(ScoresJourney, BadScoresAreOneSentenceAndWriteNothing) {
  const ScoreFile good = read_score_file(*prepared_ / "clinic.csv");
  const auto write = [&](const std::string& name, const auto& change) {
    ScoreFile scores = good;
    scores.path = *prepared_ / name;
    change(scores);
    write_score_file(scores);
  };
  write("others.csv", [](ScoreFile& scores) {
    for (std::string& picture : scores.pictures) picture = "elsewhere/x" + fs::path(picture).filename().string();
  });
  write("few.npz", [](ScoreFile& scores) {
    scores.pictures.pop_back();
    scores.values.resize(scores.values.size() - 10);
    --scores.rows;
  });
  write("few.npy", [](ScoreFile& scores) {
    scores.values.resize(scores.values.size() - 10);
    --scores.rows;
  });
  fs::remove(*prepared_ / "few.json");
  write("sums.npz", [](ScoreFile& scores) { scores.values[0] += 0.2F, scores.values[1] += 0.1F; });
  write("nan.npz", [](ScoreFile& scores) { scores.values[13] = NAN; });
  write("near.csv", [](ScoreFile& scores) {
    for (std::string& name : scores.classes) name = "near " + name;
  });
  write("far.csv", [](ScoreFile& scores) {
    for (std::string& name : scores.classes) name = "far " + name;
  });
  prepared_->write("list.csv", "path,class,confidence,agreement,error\n");
  const std::map<std::string, std::string> cases = {
      {"adapt --source hospital-a.safetensors others.csv --target photos",
       "others.csv has no scores of 40 of the 40 pictures of photos, first photos/"},
      {"adapt --source hospital-a.safetensors few.npz --target photos",
       "few.npz has no scores of 1 of the 40 pictures"},
      {"adapt --source hospital-a.safetensors few.npy --target photos",
       "few.npy has 39 rows without names of pictures, but photos has 40 pictures"},
      {"adapt --source hospital-a.safetensors sums.npz --target photos", "sum to 1.3, not 1; write probabilities"},
      {"adapt --source hospital-a.safetensors nan.npz --target photos", "nan.npz: a score of photos/"},
      {"adapt --source hospital-a.safetensors far.csv --target photos",
       "the classes of hospital-a.safetensors are only numbered, those of far.csv have names; give a list of names"},
      {"adapt --source near.csv far.csv --target photos",
       "near.csv and far.csv have no class in common; rename classes with --classes"},
      {"adapt --source hospital-a.safetensors list.csv --target photos",
       "list.csv has classes of pictures but no scores"},
      {"adapt --source hospital-a.safetensors clinic.csv:size=32 --target photos",
       "clinic.csv holds scores of pictures, so it takes no size"},
      {"adapt --source hospital-a.safetensors clinic.csv:scores=shares --target photos", "scores"},
      {"adapt --source hospital-a.safetensors clinic.csv --target photos --method shot",
       "--method shot needs models, but of clinic.csv there are only scores; choose --method selective"},
      {"adapt --source hospital-a.safetensors clinic.csv --target photos --estimate full",
       "--estimate full adapts without each source"},
      {"adapt --source hospital-a.safetensors clinic.csv --target photos --cross-labels",
       "--cross-labels needs models"},
      {"adapt --source hospital-a.safetensors --target photos --init clinic.safetensors",
       "--init clinic.safetensors is for a student of score files, but all sources are models"},
      {"adapt --source clinic.csv --target photos --student resnet18", "give it ImageNet weights with --init FILE"},
      {"adapt --source clinic.csv --target photos --init nowhere.pth", "nowhere.pth"},
      {"predict clinic.csv --data photos", "clinic.csv holds scores of pictures, not a model; only tributary adapt"},
      {"predict clinic.csv hospital-a.safetensors --data photos", "clinic.csv holds scores of pictures, not a model"},
      {"predict hospital-a.safetensors --data photos --scores x.txt", "name a file that ends in .csv, .npy or .npz"},
      {"inspect nan.npz", "nan.npz: a score of"},
      {"inspect sums.npz", "sum to 1.3, not 1"},
  };
  const std::set<std::string> before = tree();
  for (const auto& [arguments, expected] : cases) {
    const Outcome outcome = run(arguments + (arguments.starts_with("adapt") ? " --run refused --threads 1" : ""));
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.err;
    const std::vector<std::string> lines = test::lines_of(outcome.err);  // notices, then the refusal
    ASSERT_FALSE(lines.empty()) << arguments;
    EXPECT_THAT(lines.back(), HasSubstr(expected)) << outcome.err;
    if (arguments.find("few.npy") == std::string::npos) {
      EXPECT_EQ(lines.size(), 1u) << outcome.err;
    }
    EXPECT_THAT(tree(), before) << arguments;
  }
}

TEST_F(ScoresJourney, PhotographsNeedInitialWeights) {
  const test::TempDir& folder = *prepared_;
  constexpr int kHeight = 96, kWidth = 128;
  const std::vector<uint8_t> rgb(size_t{3} * kHeight * kWidth, 100);
  for (const char* name : {"large/a.png", "large/b.png"}) folder.write(name, encode_png(rgb, kHeight, kWidth));
  folder.write("large.csv", "picture,cat,dog\na.png,0.5,0.5\nb.png,1,0\n");
  const Outcome outcome = run("adapt --source large.csv --target large --run refused");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(
      outcome.err,
      HasSubstr("large has pictures of 128x96, and a student with random weights learns pictures of up to 64x64; "
                "give it ImageNet weights with --init FILE"));
  EXPECT_FALSE(fs::exists(folder / "refused"));
}

}  // namespace
}  // namespace tributary

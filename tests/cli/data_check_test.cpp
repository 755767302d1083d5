// `tributary data check` on complete and incomplete benchmarks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/support/documentation.h"
#include "tests/support/forked_program.h"
#include "tests/support/mat.h"

namespace tributary {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_forked_program;
using test::TempDir;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The generated digits as a benchmark in a TOML file.
class DataCheckJourney : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    const Outcome made = run_forked_program(*folder_, "data make digits digits --pictures 200 --test-pictures 100");
    ASSERT_EQ(made.code, 0) << made.err;
    const std::string postal =
        "[benchmark]\nname = \"drawn\"\narchitecture = \"lenet\"\n"
        "[[domain]]\nname = \"postal\"\ntrain = \"digits/postal/train-images.idx\"\n"
        "test = \"digits/postal/test-images.idx\"\n";
    folder_->write("mine.toml", postal + "[[domain]]\nname = \"signs\"\ntrain = \"digits/signs/train-images.idx\"\n");
    folder_->write("lonely-images.idx", test::file_text(*folder_ / "digits/signs/train-images.idx"));
    folder_->write("lonely.toml", postal + "[[domain]]\nname = \"signs\"\ntrain = \"lonely-images.idx\"\n");
    folder_->folder("office/amazon");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static Outcome run(const std::string& arguments) { return run_forked_program(*folder_, arguments); }

  static TempDir* folder_;
};

TempDir* DataCheckJourney::folder_ = nullptr;

TEST_F(DataCheckJourney, ListsTheDomains) {
  const Outcome shown = run("data check mine.toml");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.err, "");
  EXPECT_THAT(shown.out, HasSubstr("digits/postal/train-images.idx"));
  EXPECT_THAT(shown.out, HasSubstr("ok"));

  const Outcome json_out = run("data check mine.toml --json");
  EXPECT_EQ(json_out.code, 0) << json_out.err;
  const json facts = json::parse(json_out.out);
  EXPECT_EQ(facts.at("benchmark"), "drawn");
  EXPECT_EQ(facts.at("complete"), true);
  ASSERT_EQ(facts.at("domains").size(), 2u);
  const json& postal = facts.at("domains")[0];
  EXPECT_EQ(postal.at("train_pictures"), 200);
  EXPECT_EQ(postal.at("test_pictures"), 100);
  EXPECT_EQ(postal.at("classes"), 10);
  EXPECT_EQ(facts.at("domains")[1].at("test"), "digits/signs/train-images.idx");
}

TEST_F(DataCheckJourney, ReadsTheExampleOfThePage) {
  for (const test::CodeBlock& block : test::code_blocks(TRIBUTARY_SOURCE_DIR "/docs/benchmarks.md"))
    if (block.language == "toml") folder_->write("cameras.toml", block.text);
  ASSERT_EQ(run("data make digits png --pictures 20 --test-pictures 10 --format png").code, 0);
  folder_->folder("photos");
  std::filesystem::rename(*folder_ / "png/postal/train", *folder_ / "photos/north");
  std::filesystem::rename(*folder_ / "png/signs", *folder_ / "photos/south");
  for (const std::string part : {"train", "test"})
    ASSERT_EQ(run("data pack --labels --data png/street/" + part + " --out shards/roof-" + part).code, 0);
  const Outcome checked = run("data check cameras.toml");
  EXPECT_EQ(checked.code, 0) << checked.err;
  for (const char* domain : {"north", "south", "roof"}) EXPECT_THAT(checked.out, HasSubstr(domain));
}

TEST_F(DataCheckJourney, ReportsMissingPartsAndHowToGetThem) {
  const Outcome own = run("data check lonely.toml");
  EXPECT_EQ(own.code, 2);
  EXPECT_THAT(own.out, HasSubstr("digits/postal/train-images.idx")) << "complete domains are still listed";
  EXPECT_THAT(own.err, StartsWith("tributary data: drawn is not complete: signs (lonely-images.idx has no labels"));
  EXPECT_EQ(std::count(own.err.begin(), own.err.end(), '\n'), 1) << own.err;

  const Outcome office = run("data check office-31 office --json");
  EXPECT_EQ(office.code, 2);
  EXPECT_THAT(office.err, HasSubstr("webcam (no folder webcam in office)"));
  EXPECT_THAT(office.err, HasSubstr("https://faculty.cc.gatech.edu/~judy/domainadapt/"));
  EXPECT_EQ(json::parse(office.out).at("complete"), false);
}

TEST_F(DataCheckJourney, FindsDigitsInMatFiles) {
  test::MatBytes labels;
  for (int i = 0; i < 25000; ++i) labels.push_back(static_cast<uint8_t>(1 + i % 10));
  const test::MatBytes svhn =
      test::mat_of({test::mat_deflated(test::mat_bytes_array("X", {1, 1, 3, 25000}, test::mat_sevens(75000))),
                    test::mat_deflated(test::mat_bytes_array("y", {25000, 1}, labels))});
  folder_->write("five/svhn_train_32x32.mat", svhn);
  folder_->write("five/svhn_test_32x32.mat", svhn);
  folder_->write("five/usps_28x28.mat", test::mat_of({test::mat_bytes_array("X", {1, 1}, {1})}));
  const Outcome json_out = run("data check digit-five five --json");
  EXPECT_EQ(json_out.code, 2);
  const json facts = json::parse(json_out.out);
  const json& found = facts.at("domains")[1];
  EXPECT_EQ(found.at("train"), "five/svhn_train_32x32.mat");
  EXPECT_EQ(found.at("train_pictures"), 25000);
  EXPECT_EQ(found.at("classes"), 10);
  EXPECT_EQ(found.at("ok"), true) << found;
  EXPECT_THAT(json_out.err, HasSubstr("mnist (no folder mnist in five, nor mnist_data.mat)"));
  EXPECT_THAT(json_out.err, HasSubstr("usps (five/usps_28x28.mat has no parts; leave out :train)"));
  EXPECT_EQ(std::count(json_out.err.begin(), json_out.err.end(), '\n'), 1) << json_out.err;
}

TEST_F(DataCheckJourney, RejectsInvalidArguments) {
  const std::pair<const char*, const char*> cases[] = {
      {"data check imagenet digits", "unknown benchmark imagenet"},
      {"data check office-31", "name the folder of Office-31 too"},
      {"data check office-31 nowhere", "nowhere is not a folder"},
      {"data check mine.toml digits", "leave out digits"},
      {"data check no.toml", "no.toml"},
      {"data check", "name"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_THAT(outcome.err, ::testing::MatchesRegex("tributary data( check)?: .*\n")) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(expected)) << arguments;
  }
}

}  // namespace
}  // namespace tributary

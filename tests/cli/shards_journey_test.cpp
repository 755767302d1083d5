// Tar shards with the real program: they work wherever a folder of pictures does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/forked_program.h"
#include "tests/support/watched_program.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::file_text;
using test::Outcome;
using test::run_forked_program;
using test::TempDir;
using ::testing::HasSubstr;

class ShardsJourney : public ::testing::Test {
 protected:
  Outcome expect_success(const std::string& arguments) const {
    Outcome outcome = run_forked_program(folder_, arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }

  // The predictions of a run without the picture names, which differ.
  std::string predictions(const std::string& run) const {
    std::istringstream lines(file_text(folder_ / (run + "/predictions.csv")));
    std::string rest;
    for (std::string line; std::getline(lines, line);) rest += line.substr(line.find(',')) + "\n";
    return rest;
  }

  TempDir folder_;
};

TEST_F(ShardsJourney, ShardsGiveThePredictionsOfTheFolder) {
  expect_success("data make digits digits --pictures 60 --test-pictures 10 --format png");
  for (const char* domain : {"signs", "street"})
    expect_success(std::string("train --data digits/") + domain +
                   "/train --architecture lenet --epochs 2 --threads 2 " + "--out " + domain + ".safetensors");
  const json packed = json::parse(
      expect_success("data pack --data digits/postal/train --out shards/raw --format raw --labels --json").out);
  EXPECT_EQ(packed.at("pictures"), 60);
  EXPECT_EQ(packed.at("classes"), 10);
  EXPECT_EQ(packed.at("shards"), json::array({"shards/raw/raw-000000.tar"}));
  EXPECT_EQ(expect_success("data pack --data digits/postal/train --out shards/same").out.substr(0, 35),
            "shards/same: 60 pictures in 1 shard");

  const std::string adapt =
      "adapt --source signs.safetensors --source street.safetensors --rounds 2 --inner-epochs 1 --weight-steps 50 "
      "--threads 2 ";
  expect_success(adapt + "--target digits/postal/train --run folder");
  expect_success(adapt + "--target shards/raw --run raw");
  expect_success(adapt + "--target 'shards/same/same-{000000..000000}.tar' --memory 0.000001 --run streamed");
  EXPECT_EQ(predictions("raw"), predictions("folder"));
  EXPECT_EQ(predictions("streamed"), predictions("folder"));
  EXPECT_THAT(file_text(folder_ / "raw/predictions.csv"), HasSubstr("\nshards/raw/raw-000000.tar/00000000-"));

  const json by_folder = json::parse(expect_success("evaluate folder --data digits/postal/train --json").out);
  const json by_shards = json::parse(expect_success("evaluate folder --data shards/raw --json").out);
  EXPECT_EQ(by_shards.at("confusion"), by_folder.at("confusion"));
  expect_success("train --data shards/raw --architecture lenet --epochs 1 --out postal.safetensors");
}

TEST_F(ShardsJourney, PackingReportsSkippedPictures) {
  expect_success("data make digits digits --pictures 20 --test-pictures 10 --format png");
  folder_.write("digits/postal/train/0/zzz.png", "no picture");
  const Outcome packed = expect_success("data pack --data digits/postal/train --out out --size 16 --quality 80");
  EXPECT_THAT(packed.err, HasSubstr("tributary data: skipped digits/postal/train/0/zzz.png: not a JPEG, PNG, WebP, "
                                    "TIFF, BMP or GIF file (1 of 21 files)\n"));
  EXPECT_THAT(packed.out, HasSubstr("out: 20 pictures in 1 shard"));
  EXPECT_TRUE(fs::exists(folder_ / "out/out-000000.tar"));
}

TEST_F(ShardsJourney, InterruptedPackingLeavesAllOrNothing) {
  expect_success("data make digits digits --pictures 900 --test-pictures 10");
  const std::string command = "data pack --data digits/street/train-images.idx --format raw --shard-megabytes 1 --out ";
  expect_success(command + "whole/out");
  const auto content = [](const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder))
      files[entry.path().filename().string()] = file_text(entry.path().string());
    return files;
  };
  const auto whole = content(folder_ / "whole/out");
  EXPECT_EQ(whole.size(), 4u);
  const int64_t changes = test::run_watched(folder_.path(), command + "counted/out").changes;
  ASSERT_GT(changes, 4);
  for (const int signal : {SIGKILL, SIGTERM})
    for (const int64_t after : {int64_t{1}, changes / 2, changes - 2, changes - 1}) {
      SCOPED_TRACE(std::to_string(signal) + " after " + std::to_string(after) + " of " + std::to_string(changes));
      const test::ProcessResult result =
          test::run_watched(folder_.path(), command + "interrupted/out", test::SignalPlan{after, signal});
      EXPECT_TRUE(result.code == 0 || result.code == 128 + signal) << result.code << result.err;
      if (fs::exists(folder_ / "interrupted/out")) {
        EXPECT_EQ(content(folder_ / "interrupted/out"), whole);
      } else if (signal == SIGTERM) {
        EXPECT_FALSE(fs::exists(folder_ / "interrupted"));
      }
      if (!fs::exists(folder_ / "interrupted/out")) expect_success(command + "interrupted/out");
      EXPECT_EQ(content(folder_ / "interrupted/out"), whole);
      EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "interrupted"), {}), 1)
          << "leftovers of the killed process";
      fs::remove_all(folder_ / "interrupted");
    }
}

}  // namespace
}  // namespace tributary

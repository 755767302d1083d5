#include "tributary/run/adaptation_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "tests/run/run_files.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MethodEntry method_named(const std::string& name) {
  for (const MethodEntry& entry : registered_methods())
    if (entry.name == name) return entry;
  throw std::logic_error("no method " + name);
}

// Two small sources and a target of 24 digits.
class AdaptationRunTest : public ::testing::Test {
 protected:
  AdaptationRunTest() {
    options_.sources = {test::write_source(folder_, "lenet", 1), test::write_source(folder_, "lenet", 2)};
    options_.target = test::write_digits(folder_, "target", DigitDomain::kPostal, 24);
    options_.folder = folder_ / "run";
    options_.method = method_named("shot");
    options_.method_options.epochs = 2;
    options_.method_options.batch = options_.batch = 8;
    options_.outputs.page = options_.outputs.history = false;
  }

  std::optional<AdaptationRunResult> run(const std::string& config = "seed = 0\n") {
    return AdaptationRun(options_, config, session_, listener_).run();
  }
  std::string file(const std::string& name) const { return read_text(options_.folder + "/" + name); }

  test::TempDir folder_;
  AdaptationRunOptions options_;
  DistributedSession session_;
  test::RecordingListener listener_;
};

TEST_F(AdaptationRunTest, FillsTheRunFolder) {
  options_.test = options_.target;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->already_finished);
  EXPECT_EQ(result->summary.at("method"), "shot");
  EXPECT_EQ(result->summary.at("accuracy").at("rounds").size(), 3u);
  for (const char* name :
       {"config.toml", "metrics.jsonl", "model.safetensors", "predictions.csv", "summary.json", "DONE"})
    EXPECT_TRUE(std::filesystem::exists(options_.folder + "/" + name)) << name;
  EXPECT_FALSE(std::filesystem::exists(options_.folder + "/checkpoint"));
  EXPECT_EQ(listener_.trained, 1);
}

TEST_F(AdaptationRunTest, AFinishedRunIsNotRepeated) {
  const auto first = run();
  const std::string metrics = file("metrics.jsonl");
  const auto again = run();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->already_finished);
  EXPECT_EQ(again->summary, first->summary);
  EXPECT_EQ(file("metrics.jsonl"), metrics);
  EXPECT_THROW(run("seed = 1\n"), InputError);
}

TEST_F(AdaptationRunTest, ResumesAfterAFailureWithTheSameResult) {
  options_.checkpoints.every = 0;
  run();
  const std::string whole = file("predictions.csv");
  options_.folder = folder_ / "cut";
  listener_.on_round = [](const RoundEvent& event) {
    if (event.round == 2) throw std::runtime_error("power cut");
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_TRUE(std::filesystem::exists(options_.folder + "/checkpoint"));
  listener_.on_round = nullptr;
  ASSERT_TRUE(run());
  EXPECT_THAT(listener_.resumed, ElementsAre(2));
  EXPECT_EQ(file("predictions.csv"), whole);
}

TEST_F(AdaptationRunTest, RejectsResumingWithOtherPictures) {
  options_.checkpoints.every = 0;
  listener_.on_round = [](const RoundEvent& event) {
    if (event.round == 2) throw std::runtime_error("power cut");
  };
  EXPECT_THROW(run(), std::runtime_error);
  listener_.on_round = nullptr;
  options_.target = test::write_digits(folder_, "target", DigitDomain::kPostal, 30);
  try {
    run();
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("interrupted with 24 pictures, and now there are 30"));
  }
}

TEST_F(AdaptationRunTest, RetriesWithMicroBatchesWhenTheGpuIsOutOfMemory) {
  bool is_first = true;
  listener_.on_round = [&](const RoundEvent& event) {
    if (event.round != 1 || !is_first) return;
    is_first = false;
    throw std::runtime_error("CUDA out of memory");
  };
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_THAT(listener_.retried, ElementsAre(4));
  EXPECT_EQ(result->summary.at("pictures_at_once"), 4);
}

TEST_F(AdaptationRunTest, RetriesEveryMethodThatSupportsMicroBatches) {
  for (const std::string name : {"nrc", "aad", "cowa"}) {
    options_.method = method_named(name);
    options_.folder = folder_ / name;
    listener_.retried.clear();
    bool is_first = true;
    listener_.on_round = [&](const RoundEvent& event) {
      if (event.round != 1 || !is_first) return;
      is_first = false;
      throw std::runtime_error("CUDA out of memory");
    };
    const auto result = run();
    ASSERT_TRUE(result) << name;
    EXPECT_THAT(listener_.retried, ElementsAre(4)) << name;
  }
}

TEST_F(AdaptationRunTest, RunsTheOracleOfSelective) {
  options_.method = method_named("selective");
  options_.oracle_labels = options_.target;
  options_.method_options.epochs = 0;
  OptionTable table;
  options_.method.declare(table);
  table.read_toml_text("[adapt]\nrounds = 1\ninner_epochs = 1\nweight_steps = 5\n", "test.toml");
  table.apply_toml();
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->summary.at("method"), "selective-oracle");
}

TEST_F(AdaptationRunTest, ReportsSkippedPicturesAndNeedsTwo) {
  folder_.write("photos/bad.png", "no picture");
  options_.target = folder_ / "photos";
  options_.load.max_bad_share = 1;
  EXPECT_THROW(run(), InputError);
  EXPECT_FALSE(std::filesystem::exists(options_.folder)) << "no file before the data was checked";
}

}  // namespace
}  // namespace tributary

#include "tributary/run/source_training_run.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/run/run_files.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

class SourceTrainingRunTest : public ::testing::Test {
 protected:
  SourceTrainingRunTest() {
    options_.data = test::write_digits(folder_, "handwriting", DigitDomain::kHandwriting, 40);
    options_.out = folder_ / "models/handwriting.safetensors";
    options_.import.architecture = "lenet";
    options_.training.epochs = 1;
    options_.training.batch = 8;
  }

  SourceTrainingRunResult run() { return SourceTrainingRun(options_, "seed = 0\n", session_, listener_).run().value(); }

  test::TempDir folder_;
  SourceTrainingRunOptions options_;
  DistributedSession session_;
  test::RecordingListener listener_;
};

TEST_F(SourceTrainingRunTest, WritesAModelNamedAfterItsDomain) {
  const SourceTrainingRunResult result = run();
  EXPECT_EQ(result.name, "handwriting");
  EXPECT_EQ(result.architecture, "lenet");
  EXPECT_EQ(result.classes, 10);
  EXPECT_EQ(result.pictures, 36);
  EXPECT_EQ(result.validation_pictures, 4);
  EXPECT_EQ(load_source(options_.out).info().name, "handwriting");
  EXPECT_FALSE(std::filesystem::exists(options_.out + ".checkpoint"));
  EXPECT_GT(listener_.progress, 0);
  EXPECT_EQ(listener_.trained, 1);
}

TEST_F(SourceTrainingRunTest, TakesAValidationSetAndAnotherName) {
  options_.validation = test::write_digits(folder_, "validation", DigitDomain::kHandwriting, 12, /*seed=*/2);
  options_.name = "pens";
  const SourceTrainingRunResult result = run();
  EXPECT_EQ(result.name, "pens");
  EXPECT_EQ(result.pictures, 40);
  EXPECT_EQ(result.validation_pictures, 12);
}

TEST_F(SourceTrainingRunTest, ReportsAFinishedModelAndOverwritesItOnlyIfAsked) {
  const SourceTrainingRunResult first = run();
  EXPECT_FALSE(first.already_finished);
  const auto written = std::filesystem::last_write_time(options_.out);
  const SourceTrainingRunResult again = run();
  EXPECT_TRUE(again.already_finished);
  EXPECT_EQ(again.validation_accuracy, first.validation_accuracy);
  EXPECT_EQ(again.pictures, first.pictures);
  EXPECT_EQ(again.architecture, "lenet");
  EXPECT_EQ(std::filesystem::last_write_time(options_.out), written);
  EXPECT_THROW(SourceTrainingRun(options_, "seed = 1\n", session_, listener_).run(), InputError);
  EXPECT_EQ(std::filesystem::last_write_time(options_.out), written);
  options_.checkpoints.restart = true;
  EXPECT_FALSE(run().already_finished);
  EXPECT_NE(std::filesystem::last_write_time(options_.out), written);
}

TEST_F(SourceTrainingRunTest, ChoosesTheDigitNetworkForSmallPicturesAndSaysSo) {
  options_.import.architecture.clear();
  EXPECT_EQ(run().architecture, "dtn");
  ASSERT_EQ(listener_.warnings.size(), 1u);
  EXPECT_NE(listener_.warnings[0].find("pictures of 32x32, so this trains dtn"), std::string::npos)
      << listener_.warnings[0];
}

TEST_F(SourceTrainingRunTest, ClassNamesOfAListNameTheLabels) {
  options_.classes = folder_ / "names.txt";
  folder_.write("names.txt", "nought\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
  run();
  EXPECT_EQ(load_source(options_.out).info().classes.front(), "nought");
}

TEST_F(SourceTrainingRunTest, StartsFromTheWeightsOfAnotherModel) {
  options_.init = test::write_source(folder_, "dtn", 3);
  options_.import.architecture.clear();
  EXPECT_EQ(run().architecture, "dtn");
}

}  // namespace
}  // namespace tributary

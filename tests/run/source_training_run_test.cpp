#include "tributary/run/source_training_run.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/run/run_files.h"

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

TEST_F(SourceTrainingRunTest, StartsFromTheWeightsOfAnotherModel) {
  options_.init = test::write_source(folder_, "dtn", 3);
  options_.import.architecture.clear();
  EXPECT_EQ(run().architecture, "dtn");
}

}  // namespace
}  // namespace tributary

#include "tributary/run/distillation_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/run/run_files.h"

namespace tributary {
namespace {

class DistillationRunTest : public ::testing::Test {
 protected:
  DistillationRunTest() {
    options_.model = folder_ / "mixture.safetensors";
    save_ensemble(options_.model, test::small_ensemble({"lenet", "dtn"}));
    options_.target = test::write_digits(folder_, "postal", DigitDomain::kPostal, 24);
    options_.out = folder_ / "student.safetensors";
    options_.training.epochs = 1;
    options_.training.batch = 8;
  }

  DistillationRunResult run() { return DistillationRun(options_, "seed = 0\n", session_, listener_).run().value(); }

  test::TempDir folder_;
  DistillationRunOptions options_;
  DistributedSession session_;
  test::RecordingListener listener_;
};

TEST_F(DistillationRunTest, WritesAStudentAndComparesIt) {
  options_.test = options_.target;
  options_.architecture = "lenet";
  const DistillationRunResult result = run();
  EXPECT_EQ(result.architecture, "lenet");
  EXPECT_EQ(result.pictures, 24);
  EXPECT_EQ(result.mixture.networks, 2);
  EXPECT_EQ(result.student.networks, 1);
  EXPECT_LT(result.student.parameters, result.mixture.parameters);
  EXPECT_EQ(result.student.bytes, static_cast<int64_t>(std::filesystem::file_size(options_.out)));
  EXPECT_TRUE(result.mixture.accuracy && result.student.accuracy);
  EXPECT_GE(result.agreement, 0);
  EXPECT_EQ(load_source(options_.out).info().name, "student");
  EXPECT_FALSE(std::filesystem::exists(options_.out + ".checkpoint"));
}

TEST_F(DistillationRunTest, StartsFromATeacherOfTheSameNetworkOnly) {
  options_.init = kInitTeacher;
  options_.architecture = "resnet18";
  EXPECT_THROW(run(), InputError);
  options_.architecture.clear();
  options_.training.rate = 0;  // keeps the student equal to the teacher
  EXPECT_EQ(run().architecture, "lenet");
}

TEST_F(DistillationRunTest, NamesTheNetworkThatItChose) {
  run();
  EXPECT_EQ(listener_.warnings.at(0), "the student is lenet and starts with random weights");
}

TEST_F(DistillationRunTest, HintsAtAStudentThatDisagrees) {
  const auto hints = [this] {
    return std::count_if(listener_.warnings.begin(), listener_.warnings.end(),
                         [](const std::string& text) { return text.find("poor replacement") != std::string::npos; });
  };
  options_.training.rate = 0;
  options_.architecture = "dtn";
  options_.init = kInitFresh;
  EXPECT_LT(run().agreement, 0.9);
  EXPECT_EQ(hints(), 1);

  listener_.warnings.clear();
  options_.model = folder_ / "alone.safetensors";
  options_.out = folder_ / "copy.safetensors";
  Ensemble sure = test::small_ensemble({"lenet"});  // of one class, whatever the statistics of BatchNorm
  for (const NamedTensor& tensor : sure.sources[0].state())
    if (tensor.name == "classifier.bias") tensor.value.detach()[1] = 1000;
  save_ensemble(options_.model, sure);
  options_.architecture.clear();
  options_.init = kInitTeacher;
  EXPECT_EQ(run().agreement, 1);
  EXPECT_EQ(hints(), 0);
}

}  // namespace
}  // namespace tributary

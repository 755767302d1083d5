#include "tributary/experiments/job_admission.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

using Kinds = std::vector<std::string>;

// Starts waiting jobs until none is admitted, and returns how many.
int start_all(JobAdmission& admission, Kinds waiting) {
  int started = 0;
  while (const auto index = admission.next(waiting)) {
    admission.start(waiting[*index]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(*index));
    ++started;
  }
  return started;
}

TEST(JobAdmission, KnownJobsFillTheMemoryUpToTheMargin) {
  // 4 x 33 = 132 would fit into 140 without the margin of 10 %; 3 x 33 x 1.1 = 108.9 does with it.
  JobAdmission three(8, 140, {{"shot", 33}});
  EXPECT_EQ(start_all(three, Kinds(8, "shot")), 3);
  // 4 x 31 x 1.1 = 136.4.
  JobAdmission four(8, 140, {{"shot", 31}});
  EXPECT_EQ(start_all(four, Kinds(8, "shot")), 4);
  // 2 x 50 x 1.1 = 110.
  JobAdmission enough(8, 111, {{"shot", 50}}), too_little(8, 109, {{"shot", 50}});
  EXPECT_EQ(start_all(enough, Kinds(8, "shot")), 2);
  EXPECT_EQ(start_all(too_little, Kinds(8, "shot")), 1);
}

TEST(JobAdmission, AJobOfUnknownSizeRunsAlone) {
  JobAdmission admission(8, 140);
  EXPECT_EQ(start_all(admission, {"shot", "shot", "shot"}), 1);
  admission.report("shot", 33);
  EXPECT_EQ(start_all(admission, {"shot", "shot", "shot"}), 2) << "with the running one, three";
  for (int i = 0; i < 3; ++i) admission.finish("shot");
  EXPECT_EQ(start_all(admission, {"shot", "shot", "shot", "shot"}), 3);
}

TEST(JobAdmission, UnknownJobsComeFirstAndWaitForRunningOnes) {
  JobAdmission admission(8, 140, {{"shot", 33}});
  EXPECT_EQ(admission.next({"shot", "selective"}), 1u);
  admission.start("selective");
  EXPECT_EQ(admission.next({"shot", "nrc"}), std::nullopt);
  admission.finish("selective");
  admission.start("shot");
  EXPECT_EQ(admission.next({"selective", "shot"}), 1u) << "selective did not report its size";
}

TEST(JobAdmission, ALargeJobRunsAlone) {
  JobAdmission admission(8, 140, {{"large", 200}, {"small", 10}});
  EXPECT_EQ(admission.next({"large", "small"}), 0u);
  admission.start("large");
  EXPECT_EQ(admission.next({"small"}), std::nullopt);
  admission.finish("large");
  admission.start("small");
  EXPECT_EQ(admission.next({"large", "small"}), 1u);
}

TEST(JobAdmission, OnACpuOnlyTheNumberOfJobsIsLimited) {
  JobAdmission admission(3);
  EXPECT_EQ(start_all(admission, {"a", "b", "c", "d"}), 3);
  admission.finish("b");
  EXPECT_EQ(admission.next({"d"}), 0u);
}

TEST(JobAdmission, TheNumberOfJobsAlsoLimitsAGpu) {
  JobAdmission admission(2, 140, {{"small", 1}});
  EXPECT_EQ(start_all(admission, Kinds(5, "small")), 2);
}

TEST(JobAdmission, TheLargestReportCounts) {
  JobAdmission admission(8, 140);
  admission.report("shot", 20);
  admission.report("shot", 33);
  admission.report("shot", 25);
  admission.report("selective", 0);
  EXPECT_EQ(admission.peaks(), (KnownPeaks{{"shot", 33}}));
}

}  // namespace
}  // namespace tributary

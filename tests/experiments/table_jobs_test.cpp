#include "tributary/experiments/table_jobs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

// Jobs that record how many of them run at once and the memory they take together.
struct Load {
  std::mutex mutex;
  int64_t running = 0, taken = 0, most_running = 0, most_taken = 0;

  TableJob job(const std::string& kind, int64_t bytes) {
    TableJob job{kind, kind, {}, [](const std::string&) {}};
    job.work = [this, bytes]() -> TableJob::Result {
      add(1, bytes);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      add(-1, -bytes);
      return {"", bytes};
    };
    return job;
  }
  void add(int64_t jobs, int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex);
    running += jobs;
    taken += bytes;
    most_running = std::max(most_running, running);
    most_taken = std::max(most_taken, taken);
  }
};

void ignore(int64_t, int64_t, const std::string&) {}

TEST(RunJobs, NeverTakesMoreThanTheMemory) {
  Load load;
  std::vector<TableJob> jobs;
  for (int i = 0; i < 6; ++i) {
    jobs.push_back(load.job("shot", 40));
    jobs.push_back(load.job("selective", 50));
  }
  JobAdmission admission(8, 140);
  int64_t done = 0;
  run_jobs(jobs, 8, admission, [&](int64_t, int64_t, const std::string&) { ++done; });
  EXPECT_EQ(done, 12);
  EXPECT_LE(load.most_taken, 127);  // 140 / 1.1
  EXPECT_GE(load.most_running, 2);
  EXPECT_EQ(admission.peaks(), (KnownPeaks{{"selective", 50}, {"shot", 40}}));
}

TEST(RunJobs, AnEarlyReportAdmitsTheNextJob) {
  // The first job ends only when the second has started, which needs the first one's report.
  std::atomic<bool> second_started = false;
  TableJob first{"first", "shot", {}, [](const std::string&) {}, [] { return int64_t{33}; }};
  first.work = [&]() -> TableJob::Result {
    for (int i = 0; i < 1000 && !second_started; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return {second_started ? ": together" : ": alone", 33};
  };
  TableJob second = first;
  second.work = [&]() -> TableJob::Result {
    second_started = true;
    return {"", 33};
  };
  JobAdmission admission(2, 140);
  std::vector<std::string> reported;
  run_jobs({first, second}, 2, admission, [&](int64_t, int64_t, const std::string& what) { reported.push_back(what); });
  EXPECT_THAT(reported, testing::Contains("first: together"));
}

TEST(RunJobs, StopsIfAFailureThrows) {
  std::atomic<int> started = 0;
  std::vector<TableJob> jobs(20, {"job", "kind",
                                  [&]() -> TableJob::Result {
                                    ++started;
                                    throw std::runtime_error("broken");
                                  },
                                  [](const std::string& why) { work_error("stop: {}", why); }});
  JobAdmission admission(2);
  EXPECT_THROW(run_jobs(jobs, 2, admission, ignore), WorkError);
  EXPECT_LE(started, 2);
}

TEST(KnownPeaks, AreRememberedInTheFolder) {
  const test::TempDir folder;
  EXPECT_TRUE(read_known_peaks(folder.path()).empty());
  write_known_peaks(folder.path(), {{"shot", 33}, {"train", 20}});
  write_known_peaks(folder.path(), {{"shot", 30}, {"nrc", 12}});
  EXPECT_EQ(read_known_peaks(folder.path()), (KnownPeaks{{"nrc", 12}, {"shot", 33}, {"train", 20}}));
  folder.write("gpu-memory.json", "{\"shot\": ");
  EXPECT_TRUE(read_known_peaks(folder.path()).empty());
}

TEST(GpuPeakOfTraining, IsReadAsSoonAsItIsWritten) {
  const test::TempDir folder;
  EXPECT_EQ(gpu_peak_of_training(folder / "gpu-memory.json"), 0);
  EXPECT_EQ(gpu_peak_of_training(folder.write("gpu-memory.json", "{\"gpu_peak_bytes\": 33}\n")), 33);
  EXPECT_EQ(gpu_peak_of_training(folder.write("gpu-memory.json", "{\"gpu_pe")), 0);
}

TEST(GpuPeakOfMetrics, CountsFromTheFirstRoundOfTraining) {
  const test::TempDir folder;
  EXPECT_EQ(gpu_peak_of_metrics(folder / "metrics.jsonl"), 0);
  const std::string before = "{\"round\": 0, \"gpu_peak_bytes\": 5}\n";
  EXPECT_EQ(gpu_peak_of_metrics(folder.write("metrics.jsonl", before)), 0);
  const std::string trained = before + "{\"round\": 1, \"gpu_peak_bytes\": 33}\n{\"round\": 2, \"gpu_peak_by";
  EXPECT_EQ(gpu_peak_of_metrics(folder.write("metrics.jsonl", trained)), 33);
}

}  // namespace
}  // namespace tributary

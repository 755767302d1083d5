// Runs the jobs of a table side by side, as many as JobAdmission lets.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tributary/experiments/job_admission.h"
#include "tributary/experiments/tables.h"

namespace tributary {

struct TableJob {
  struct Result {
    std::string text;      // a short result for the progress line
    int64_t gpu_peak = 0;  // bytes of GPU memory; 0: unknown
  };
  std::string what;
  std::string kind;  // jobs of one kind take the same amount of GPU memory
  std::function<Result()> work;
  std::function<void(const std::string& why)> failed;
  // The peak of the running job so far, in bytes; 0 as long as it is unknown. May be empty.
  std::function<int64_t()> peak_so_far = {};
};

// Runs all jobs and reports each when it ends. Jobs that run out of memory are retried at the end, one by one. After an
// interrupt, or if `failed` throws, no further job starts, and the exception is rethrown.
void run_jobs(const std::vector<TableJob>& jobs, int parallel, JobAdmission& admission, const TableProgress& progress);

// The peaks that earlier calls measured, in FOLDER/gpu-memory.json; none if there is no such file.
KnownPeaks read_known_peaks(const std::string& folder);
// Adds peaks to the file.
void write_known_peaks(const std::string& folder, const KnownPeaks& peaks);

// The gpu_peak_bytes that a source training has written so far (training_memory_file); 0 if there is none yet.
int64_t gpu_peak_of_training(const std::string& memory_file);
// The largest gpu_peak_bytes in the metrics of a run after its first round of training; 0 if there is none yet.
int64_t gpu_peak_of_metrics(const std::string& metrics_file);

}  // namespace tributary

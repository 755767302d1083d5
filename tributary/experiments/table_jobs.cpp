#include "tributary/experiments/table_jobs.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"

namespace tributary {
namespace {

// 0 if the object has no such number.
int64_t integer_or_zero(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

constexpr auto kPoll = std::chrono::milliseconds(500);  // of running jobs whose size is unknown

class JobQueue {
 public:
  JobQueue(const std::vector<TableJob>& jobs, JobAdmission& admission, const TableProgress& progress)
      : jobs_(jobs), admission_(admission), progress_(progress) {
    for (const TableJob& job : jobs) waiting_.push_back(&job);
  }

  void run(int parallel) {
    retrying_ = parallel == 1;  // a retry would not be any more alone
    const int workers = std::min(parallel, static_cast<int>(jobs_.size()));
    std::vector<std::thread> threads;
    for (int i = 1; i < workers; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    retrying_ = true;
    waiting_ = std::move(retries_);
    work();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // Runs jobs until none is left.
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!failure_ && !waiting_.empty()) {
      const TableJob* const job = take();
      if (!job) {
        changed_.wait_for(lock, kPoll);
        learn_early();
        continue;
      }
      lock.unlock();
      std::exception_ptr failure;
      try {
        attempt(*job);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      admission_.finish(job->kind);
      running_.erase(std::find(running_.begin(), running_.end(), job));
      changed_.notify_all();
    }
  }

  // Starts the next job that may run now, or returns null.
  const TableJob* take() {
    std::vector<std::string> kinds;
    for (const TableJob* job : waiting_) kinds.push_back(job->kind);
    const std::optional<size_t> index = admission_.next(kinds);
    if (!index) return nullptr;
    const TableJob* const job = waiting_[*index];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(*index));
    admission_.start(job->kind);
    running_.push_back(job);
    return job;
  }

  // Asks running jobs of unknown size for their peak, so that others need not wait until they end.
  void learn_early() {
    if (!admission_.limited()) return;
    for (const TableJob* job : running_)
      if (job->peak_so_far && !admission_.knows(job->kind)) admission_.report(job->kind, job->peak_so_far());
  }

  void attempt(const TableJob& job) {
    std::string why;
    TableJob::Result result;
    try {
      result = job.work();
    } catch (const Interrupted&) {
      throw;
    } catch (const MemoryError& error) {
      if (!retrying_) {
        const std::lock_guard<std::mutex> lock(mutex_);
        retries_.push_back(&job);
        return;
      }
      why = error.what();
    } catch (const std::exception& error) {
      why = error.what();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    admission_.report(job.kind, result.gpu_peak);
    std::string message = job.what + result.text;
    if (!why.empty()) {
      job.failed(why);
      message += " failed: " + why;
    }
    progress_(++done_, static_cast<int64_t>(jobs_.size()), message);
  }

  const std::vector<TableJob>& jobs_;
  JobAdmission& admission_;
  const TableProgress& progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const TableJob*> waiting_, running_, retries_;
  std::exception_ptr failure_;
  bool retrying_ = false;
  int64_t done_ = 0;
};

std::string peaks_file(const std::string& folder) {
  return folder + "/gpu-memory.json";
}

}  // namespace

void run_jobs(const std::vector<TableJob>& jobs, int parallel, JobAdmission& admission, const TableProgress& progress) {
  JobQueue(jobs, admission, progress).run(parallel);
}

KnownPeaks read_known_peaks(const std::string& folder) {
  KnownPeaks peaks;
  if (!is_regular_file_at(peaks_file(folder))) return peaks;
  const nlohmann::json object = nlohmann::json::parse(read_text(peaks_file(folder)), nullptr, false);
  if (!object.is_object()) return peaks;  // a damaged file only costs measuring again
  for (const auto& [kind, bytes] : object.items())
    if (bytes.is_number_integer()) peaks[kind] = bytes;
  return peaks;
}

void write_known_peaks(const std::string& folder, const KnownPeaks& peaks) {
  if (peaks.empty()) return;
  KnownPeaks all = read_known_peaks(folder);
  for (const auto& [kind, bytes] : peaks) all[kind] = std::max(all[kind], bytes);
  write_file_atomically(peaks_file(folder), json_text(nlohmann::json(all), 2) + "\n");
}

int64_t gpu_peak_of_training(const std::string& memory_file) {
  std::ifstream file = open_regular(memory_file);
  const nlohmann::json object = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  return integer_or_zero(object, "gpu_peak_bytes");
}

int64_t gpu_peak_of_metrics(const std::string& metrics_file) {
  std::ifstream file = open_regular(metrics_file);
  int64_t peak = 0;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json round = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (integer_or_zero(round, "round") < 1) continue;  // an incomplete line is read again later
    peak = std::max(peak, integer_or_zero(round, "gpu_peak_bytes"));
  }
  return peak;
}

}  // namespace tributary

#include "tributary/base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <latch>
#include <limits>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include "tributary/base/error.h"

namespace tributary {
namespace {

// The iterations of one loop, handed out in chunks.
class Iterations {
 public:
  Iterations(int64_t count, int64_t chunk, const std::function<void(int64_t)>& body)
      : count_(count), chunk_(chunk), body_(body) {}

  // Runs chunks until none is left or an iteration throws.
  void work() noexcept {
    try {
      while (!failed_.load(std::memory_order_relaxed)) {
        const int64_t begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
        if (begin >= count_) return;
        const int64_t end = std::min(count_, begin + chunk_);
        for (int64_t index = begin; index < end; ++index) body_(index);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!first_error_) first_error_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
  }

  void rethrow() const {
    if (first_error_) std::rethrow_exception(first_error_);
  }

 private:
  const int64_t count_;
  const int64_t chunk_;
  const std::function<void(int64_t)>& body_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr first_error_;
};

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The smallest quota of this process's cgroup and those above it; 0 if there is none.
int cpus_of_cgroup() {
  int smallest = 0;
  const auto consider = [&smallest](int cpus) {
    if (cpus > 0 && (smallest == 0 || cpus < smallest)) smallest = cpus;
  };
  const std::string root = "/sys/fs/cgroup";
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;  // version 2
    for (std::string path = line.substr(3); !path.empty(); path.resize(path.rfind('/')))
      consider(cpus_of_quota(first_line_of(root + path + "/cpu.max")));
  }
  consider(cpus_of_quota(first_line_of(root + "/cpu.max")));
  consider(cpus_of_quota(first_line_of(root + "/cpu/cpu.cfs_quota_us") + " " +
                         first_line_of(root + "/cpu/cpu.cfs_period_us")));  // version 1
  return smallest;
}

}  // namespace

int cpus_of_quota(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  int64_t quota = 0, period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((quota + period - 1) / period, std::numeric_limits<int>::max()));
}

int usable_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
  int cpus = known ? CPU_COUNT(&mask) : static_cast<int>(std::thread::hardware_concurrency());
  if (const int limit = cpus_of_cgroup(); limit > 0) cpus = std::min(cpus, limit);
  return std::max(1, cpus);
}

int hardware_threads() {
  static const int count = usable_cpus();
  return count;
}

void require_threads(int threads) {
  std::latch counted(1);  // all threads wait for it
  std::vector<std::thread> started;
  bool refused = false;
  try {
    while (static_cast<int>(started.size()) < threads - 1)
      started.emplace_back([&counted] { counted.wait(); });
  } catch (const std::system_error&) {
    refused = true;
  }
  counted.count_down();
  for (std::thread& thread : started) thread.join();
  if (refused) input_error("--threads {}: only {} threads can be started; choose fewer", threads, started.size() + 1);
}

void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& body) {
  if (count <= 0) return;
  if (threads <= 0) threads = hardware_threads();
  threads = static_cast<int>(std::min<int64_t>(threads, count));
  if (threads == 1) {
    for (int64_t index = 0; index < count; ++index) body(index);
    return;
  }
  // About 16 chunks per thread balance unequal iterations. Chunks above 64 iterations would save no time.
  Iterations iterations(count, std::clamp<int64_t>(count / (int64_t{16} * threads), 1, 64), body);
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(threads - 1));
  try {
    while (static_cast<int>(workers.size()) < threads - 1) workers.emplace_back([&iterations] { iterations.work(); });
  } catch (const std::system_error&) {
    // No further thread can be started: the existing ones, at least the caller, do all the work.
  }
  iterations.work();
  for (std::thread& worker : workers) worker.join();
  iterations.rethrow();
}

}  // namespace tributary

#include "tributary/base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

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

}  // namespace

int hardware_threads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
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

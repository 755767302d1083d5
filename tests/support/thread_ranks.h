// A Communicator whose ranks are threads of one process, to test distributed code without processes.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tributary/comm/communicator.h"

namespace tributary::test {

// Exchanges tensors between the threads. If one rank fails, the ranks that wait for it fail, too.
class ThreadHub {
 public:
  explicit ThreadHub(int64_t size) : tensors_(static_cast<size_t>(size)) {}

  // Returns copies of the tensors of all ranks.
  std::vector<Tensor> exchange(int64_t rank, const Tensor& own) {
    tensors_[static_cast<size_t>(rank)] = own.detach().clone();
    barrier();
    std::vector<Tensor> all = tensors_;
    barrier();
    return all;
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }
  bool failed() const { return failed_; }

 private:
  void barrier() {
    std::unique_lock lock(mutex_);
    const int64_t generation = generation_;
    if (++arrived_ == tensors_.size()) {
      arrived_ = 0;
      ++generation_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return generation_ != generation || failed_; });
    if (generation_ == generation) throw std::runtime_error("another rank failed");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Tensor> tensors_;
  size_t arrived_ = 0;
  int64_t generation_ = 0;
  bool failed_ = false;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(ThreadHub& hub, int64_t rank, int64_t size) : hub_(hub), rank_(rank), size_(size) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }

  void all_reduce(Tensor& tensor) override {
    const std::vector<Tensor> all = hub_.exchange(rank_, tensor);
    Tensor total = all.front().clone();
    for (size_t i = 1; i < all.size(); ++i) total += all[i];
    tensor.copy_(total);
  }
  std::unique_ptr<Pending> all_reduce_async(Tensor tensor) override {
    all_reduce(tensor);
    return std::make_unique<Done>();
  }
  void broadcast(Tensor& tensor, int64_t owner) override {
    tensor.copy_(hub_.exchange(rank_, tensor)[static_cast<size_t>(owner)]);
  }
  Tensor all_gather(const Tensor& own) override { return at::stack(hub_.exchange(rank_, own)); }

 private:
  struct Done : Pending {
    void wait() override {}
  };
  ThreadHub& hub_;
  int64_t rank_, size_;
};

// Runs `work` on `size` concurrent ranks and rethrows the first exception.
inline void run_ranks(int64_t size, const std::function<void(Communicator&)>& work) {
  ThreadHub hub(size);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadCommunicator comm(hub, rank, size);
      try {
        work(comm);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
        hub.fail();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace tributary::test

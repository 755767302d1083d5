// Communicator that are threads of one process: what several processes do together, without processes.
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

// Where they meet. When one of them fails, those who wait for it fail too.
class ThreadHub {
 public:
  explicit ThreadHub(int64_t size) : tensors_(static_cast<size_t>(size)) {}

  // Every rank brings a tensor and gets those of all, which are then copies of nobody's own.
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
    const int64_t meeting = meetings_;
    if (++here_ == tensors_.size()) {
      here_ = 0;
      ++meetings_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return meetings_ != meeting || failed_; });
    if (meetings_ == meeting) throw std::runtime_error("another rank failed");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Tensor> tensors_;
  size_t here_ = 0;
  int64_t meetings_ = 0;
  bool failed_ = false;
};

class ThreadRanks : public Communicator {
 public:
  ThreadRanks(ThreadHub& hub, int64_t rank, int64_t size) : hub_(hub), rank_(rank), size_(size) {}
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

// Does `work` on `size` ranks side by side and throws what the first that failed threw.
inline void session(int64_t size, const std::function<void(Communicator&)>& work) {
  ThreadHub hub(size);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRanks comm(hub, rank, size);
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

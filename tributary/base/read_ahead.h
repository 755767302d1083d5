// Produces items one ahead of the consumer, on a background thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <utility>

namespace tributary {

// Calls `make` `count` times, in order. If `ahead`, each call but the first runs on another thread while the caller
// uses the previous item; its exceptions are rethrown by the `next` that would return the item. Tests replace the
// clock.
template <typename Item, typename Clock = std::chrono::steady_clock>
class ReadAhead {
 public:
  ReadAhead(int64_t count, bool ahead, std::function<Item()> make)
      : left_(count), ahead_(ahead), make_(std::move(make)) {}

  bool done() const { return left_ == 0; }

  // Seconds that `next` has blocked so far: the cost of reading that is not hidden behind the caller's work.
  double waited() const { return std::chrono::duration<double>(waited_).count(); }

  Item next() {
    const auto asked = Clock::now();
    Item item = pending_.valid() ? pending_.get() : make_();
    waited_ += Clock::now() - asked;
    if (--left_ > 0 && ahead_) pending_ = std::async(std::launch::async, make_);
    return item;
  }

 private:
  int64_t left_;
  bool ahead_;
  typename Clock::duration waited_{};
  std::function<Item()> make_;
  std::future<Item> pending_;  // last member: its destructor waits for `make_`
};

}  // namespace tributary

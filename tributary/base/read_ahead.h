// Items made one after the other, the next while the last is worked with.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <utility>

namespace tributary {

// Calls `make` `count` times, in order. If `ahead`, each call but the first runs on another thread while the caller has
// the item before; an exception comes out of `next` when its item's turn comes. The clock is another one in tests only.
template <typename Item, typename Clock = std::chrono::steady_clock>
class ReadAhead {
 public:
  ReadAhead(int64_t count, bool ahead, std::function<Item()> make)
      : left_(count), ahead_(ahead), make_(std::move(make)) {}

  bool done() const { return left_ == 0; }

  // Seconds that the caller of `next` had to wait for items so far: what reading costs beyond the work it hides behind.
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
  std::future<Item> pending_;  // last: waited for before the rest goes away
};

}  // namespace tributary

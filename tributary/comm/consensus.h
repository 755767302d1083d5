// Agreement between ranks, about twice a second, on whether to stop or to save a checkpoint.
//
// Signals reach ranks at different times, and clocks differ, but all ranks must stop or save at the same step. They
// therefore exchange their state in a collective call: often enough for interactive use, rarely enough to cost nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "tributary/comm/communicator.h"

namespace tributary {

class Consensus {
 public:
  // `always`: exchange at every call instead of about twice a second.
  explicit Consensus(Communicator& comm, bool always = false) : comm_(comm), always_(always) {}

  struct Decision {
    int signal = 0;       // signal that some rank has received; 0: none
    bool wanted = false;  // result of `wish` on rank 0
  };
  // Must be called by all ranks at the same steps. Returns nullopt, without communication, if no exchange is due. Only
  // rank 0 evaluates `wish`.
  std::optional<Decision> ask(const std::function<bool()>& wish);
  // Throws `Interrupted` on all ranks if some rank has received a signal.
  void check_interrupt();

 private:
  using Clock = std::chrono::steady_clock;
  Communicator& comm_;
  bool always_;
  int64_t left_ = 1, calls_ = 0;
  Clock::time_point last_ = Clock::now();
};

}  // namespace tributary

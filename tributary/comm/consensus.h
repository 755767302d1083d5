// Communicator that ask one another, about twice a second, whether to stop or to keep their state.
//
// A signal reaches ranks at different moments, and clocks differ. Whatever follows from either must be done by all of
// them at the same place in their work, so they decide together; often enough for a person who waits, and seldom enough
// to cost nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "tributary/comm/communicator.h"

namespace tributary {

class Consensus {
 public:
  // `always`: at every call.
  explicit Consensus(Communicator& comm, bool always = false) : comm_(comm), always_(always) {}

  struct Decision {
    int signal = 0;       // that has reached one of them; 0: none
    bool wanted = false;  // what the first rank wishes
  };
  // To be called by all ranks at the same places; nothing where it is not time to ask.
  std::optional<Decision> ask(const std::function<bool()>& wish);
  // Throws `Interrupted` on all ranks once a signal came to one of them.
  void check_interrupt();

 private:
  using Clock = std::chrono::steady_clock;
  Communicator& comm_;
  bool always_;
  int64_t left_ = 1, calls_ = 0;
  Clock::time_point last_ = Clock::now();
};

}  // namespace tributary

// Being asked to stop: SIGINT (Ctrl-C) and SIGTERM end long work between two steps instead of in the middle of one.
//
// The first signal only leaves a mark; the work looks for it at every step, batch and picture and throws `Interrupted`,
// so that it can be kept before the program ends. A second signal of the same kind ends the program at once, and so
// does a clock that starts with the first: whatever takes longer than four seconds by then (one step of a large network
// on a slow machine) is given up, and what was kept before stands. Files are written so that both are safe (files.h).
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace tributary {

class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal, std::string what = "interrupted; the same command goes on, or starts anew")
      : signal_(signal), what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }
  int signal() const { return signal_; }
  int exit_code() const { return 128 + signal_; }  // as shells have it: 130 and 143

 private:
  int signal_;
  std::string what_;
};

// From here on, for the rest of the program's life.
void catch_interrupts();

// The signal that came, or 0. May be called from any thread.
int interrupt_signal() noexcept;
// Throws `Interrupted` if one came.
void check_interrupt();

// A descriptor that becomes readable when a signal comes and stays so, for those who wait with poll(); -1 before
// `catch_interrupts`.
int interrupt_descriptor() noexcept;

// Forgets a signal that came. For tests.
void forget_interrupt();

}  // namespace tributary

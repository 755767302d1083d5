// Handles SIGINT (Ctrl-C) and SIGTERM: long work stops between two steps and saves a checkpoint.
//
// The first signal sets a flag. Every step, batch and picture checks it and throws `Interrupted`, so that the state can
// be saved before the program exits. A second signal of the same kind kills the program. A timer of four seconds does
// so, too: one step of a large network on a slow machine may take longer; the last checkpoint remains. Both are safe
// because files are written atomically (files.h).
#pragma once

#include <signal.h>

#include <exception>
#include <string>
#include <utility>

namespace tributary {

class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal, std::string what = "interrupted; run the same command again to resume or restart")
      : signal_(signal), what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }
  int signal() const { return signal_; }
  int exit_code() const { return 128 + signal_; }  // as in shells: 130 and 143

 private:
  int signal_;
  std::string what_;
};

// Installs the signal handlers for the rest of the program.
void catch_interrupts();

// Handles SIGINT while it lives, for a call of the library within another program, whose handler it restores. Neither a
// second signal nor a timer ends that program. At most one may live at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();  // clears the received signal
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction previous_ {};
};

// The received signal, or 0. Thread-safe.
int interrupt_signal() noexcept;
// Throws `Interrupted` if a signal was received.
void check_interrupt();

// For poll(): a descriptor that becomes readable with the first signal and stays readable; -1 before
// `catch_interrupts`.
int interrupt_descriptor() noexcept;

// Clears the received signal. For tests.
void forget_interrupt();

}  // namespace tributary

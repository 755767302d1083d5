#include "tributary/base/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

namespace tributary {
namespace {

constexpr unsigned kPatienceSeconds = 4;

std::atomic<int> received{0};
std::atomic<int> readable{-1}, writable{-1};  // the ends of a pipe

static_assert(std::atomic<int>::is_always_lock_free, "signal handlers may use lock-free atomics only");

void on_alarm(int) {
  constexpr char kMessage[] =
      "\ntributary: interrupted during a long step; run the same command again to resume from the last checkpoint\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  ::_exit(128 + received);
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

void on_signal(int signal) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal)) return;
  const int error = errno;
  if (const int end = writable; end >= 0) [[maybe_unused]]
    const ssize_t written = ::write(end, "", 1);
  handle(SIGALRM, on_alarm, 0);  // not earlier: timers of the code around this belong to it
  ::alarm(kPatienceSeconds);
  errno = error;
}

}  // namespace

void catch_interrupts() {
  if (readable < 0) {
    std::array<int, 2> ends = {-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
      readable = ends[0];
      writable = ends[1];
    }
  }
  // SA_RESETHAND restores the default action, so that a second signal kills the program.
  for (const int signal : {SIGINT, SIGTERM}) handle(signal, on_signal, SA_RESTART | static_cast<int>(SA_RESETHAND));
}

InterruptScope::InterruptScope() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { received = signal; };
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &previous_);
}

InterruptScope::~InterruptScope() {
  ::sigaction(SIGINT, &previous_, nullptr);
  received = 0;
}

int interrupt_signal() noexcept {
  return received.load(std::memory_order_relaxed);
}

void check_interrupt() {
  if (const int signal = interrupt_signal()) throw Interrupted(signal);
}

int interrupt_descriptor() noexcept {
  return readable;
}

void forget_interrupt() {
  ::alarm(0);
  received = 0;
  char byte;
  while (readable >= 0 && ::read(readable, &byte, 1) > 0) {
  }
}

}  // namespace tributary

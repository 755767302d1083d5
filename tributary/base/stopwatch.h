// Measures elapsed time, including the time before an interruption of a resumed run.
#pragma once

#include <chrono>

namespace tributary {

class Stopwatch {
 public:
  // Starts now, with `seconds` on the clock.
  explicit Stopwatch(double seconds = 0)
      : start_(Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // Seconds since the last lap or the start.
  double lap() {
    const double before = seconds();
    start_ = Clock::now();
    return before;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
};

}  // namespace tributary

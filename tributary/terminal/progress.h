// A progress bar with facts and the remaining time:
//
//   round  7/20  ███████░░░░░░░░░░░░░  confident ▁▂▃▄▆▇█ 2,359 of 2,817 pictures   4 m 10 s left
//
// On a terminal, the bar is redrawn in place, at most ten times per second, below permanent lines. Without a terminal,
// only permanent lines are written. In quiet mode, nothing is.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace tributary {

// The width of the terminal of standard error or standard output; 120 without a terminal.
int64_t terminal_columns();

class Progress {
 public:
  using Clock = std::function<double()>;  // seconds since any fixed time

  // `columns` and `clock` are for tests: with 0, every redraw queries the terminal; the default is the steady clock.
  Progress(std::ostream& out, bool is_terminal, bool quiet, int64_t columns = 0, Clock clock = nullptr);
  ~Progress();  // calls finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws the bar on a terminal. The remaining time is estimated from the progress since the first update, so that a
  // resumed run does not count earlier work.
  void update(double share_done, std::string_view head, std::string_view facts);

  // Writes a permanent line. A visible bar is erased first and redrawn by the next update.
  void line(std::string_view text);

  // Draws the final state of the bar and ends its line. The next update starts a new bar and a new estimate.
  void finish();

 private:
  void draw();

  std::ostream& out_;
  bool is_terminal_;
  bool quiet_;
  int64_t columns_;
  Clock clock_;

  struct State {
    double share = 0;
    std::string head;
    std::string facts;
  };
  std::optional<State> latest_;  // the state to draw
  bool is_stale_ = false;        // `latest_` is newer than the screen
  bool is_shown_ = false;        // the bar is on the cursor's line
  double first_share_ = 0;
  double first_time_ = 0;
  double drawn_at_ = 0;
};

}  // namespace tributary

// One line that tells how far the work is, whether it works and when it ends.
//
//   round  7/20  ███████░░░░░░░░░░░░░  confident ▁▂▃▄▆▇█ 2,359 of 2,817 pictures   4 m 10 s left
//
// On a terminal the line is rewritten in place, at most ten times a second, below the lines that stay. Piped to a file
// there are only these. When quiet there is nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace tributary {

// The width of the terminal behind standard error or standard output, 120 where there is none.
int64_t terminal_columns();

class Progress {
 public:
  using Clock = std::function<double()>;  // seconds from any fixed moment

  // `columns` and `clock` are for tests: 0 asks the terminal each time the bar is drawn, no clock means the steady one.
  Progress(std::ostream& out, bool is_terminal, bool quiet, int64_t columns = 0, Clock clock = nullptr);
  ~Progress();  // finishes
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws the bar on a terminal. The time left is reckoned from what was done since the first update, so that a
  // resumed run does not count what it found already done.
  void update(double share_done, std::string_view head, std::string_view facts);

  // A full line that stays; a bar on the screen is wiped first and comes back with the next update.
  void line(std::string_view text);

  // Leaves the last state of the bar on the screen and ends its line. The next update begins a new bar and a new
  // reckoning.
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
  std::optional<State> latest_;  // what the bar should show
  bool is_stale_ = false;        // `latest_` is newer than the screen
  bool is_shown_ = false;        // a bar stands on the cursor's line
  double first_share_ = 0;
  double first_time_ = 0;
  double drawn_at_ = 0;
};

}  // namespace tributary

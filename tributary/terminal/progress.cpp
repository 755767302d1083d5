#include "tributary/terminal/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <ostream>
#include <utility>

#include "tributary/base/text.h"

namespace tributary {
namespace {

constexpr int64_t kBarColumns = 20;
constexpr double kSecondsBetweenDraws = 0.1;
constexpr std::string_view kErase = "\r\x1b[K";  // carriage return, erase line

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string bar(double share) {
  const auto full = static_cast<int64_t>(share * static_cast<double>(kBarColumns) + 1e-9);
  std::string out;
  for (int64_t i = 0; i < kBarColumns; ++i) out += i < full ? "█" : "░";
  return out;
}

std::string joined(std::string_view head, std::string_view facts) {
  std::string out(head);
  if (!head.empty() && !facts.empty()) out += "  ";
  return out += facts;
}

}  // namespace

int64_t terminal_columns() {
  for (const int descriptor : {STDERR_FILENO, STDOUT_FILENO}) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 120;
}

Progress::Progress(std::ostream& out, bool is_terminal, bool quiet, int64_t columns, Clock clock)
    : out_(out),
      is_terminal_(is_terminal),
      quiet_(quiet),
      columns_(columns),
      clock_(clock ? std::move(clock) : Clock(steady_seconds)) {}

Progress::~Progress() {
  try {
    finish();
  } catch (...) {  // an error of the output must not end the program
  }
}

void Progress::update(double share_done, std::string_view head, std::string_view facts) {
  if (quiet_ || !is_terminal_) return;
  const double now = clock_();
  const double share = std::isfinite(share_done) ? std::clamp(share_done, 0.0, 1.0) : 0.0;
  if (!latest_) {
    first_share_ = share;
    first_time_ = now;
    drawn_at_ = -std::numeric_limits<double>::infinity();
  }
  latest_ = State{share, safe_line(head), safe_line(facts)};
  is_stale_ = true;
  if (now - drawn_at_ < kSecondsBetweenDraws) return;
  draw();
  drawn_at_ = now;
}

void Progress::line(std::string_view text) {
  if (quiet_) return;
  if (is_shown_) out_ << kErase;
  is_shown_ = false;
  is_stale_ = latest_.has_value();
  drawn_at_ = -std::numeric_limits<double>::infinity();
  out_ << safe_line(text) << '\n' << std::flush;
}

void Progress::finish() {
  if (latest_ && is_stale_) draw();
  if (is_shown_) out_ << '\n' << std::flush;
  is_shown_ = false;
  latest_.reset();
}

void Progress::draw() {
  const double done = latest_->share - first_share_;
  const double elapsed = clock_() - first_time_;
  std::string text = joined(latest_->head, bar(latest_->share));
  std::string left;
  if (done > 0 && latest_->share < 1) left = duration(elapsed * (1 - latest_->share) / done) + " left";

  // On a narrow terminal, the facts are shortened before the remaining time. The last column stays free because some
  // terminals wrap when it is written.
  const int64_t columns = (columns_ > 0 ? columns_ : terminal_columns()) - 1;
  const int64_t room = columns - display_width(text) - 2 - (left.empty() ? 0 : display_width(left) + 3);
  const std::string facts = room > 0 ? shorten(latest_->facts, room) : "";
  if (!facts.empty()) text += "  " + facts;
  if (!left.empty()) text += "   " + left;
  out_ << kErase << shorten(text, columns) << std::flush;
  is_shown_ = true;
  is_stale_ = false;
}

}  // namespace tributary

#include "cli/terminal_listener.h"

#include <iostream>

#include "cli/command.h"
#include "tributary/base/print.h"
#include "tributary/run/observers.h"

namespace tributary::cli {

TerminalListener::TerminalListener(std::string command, bool quiet)
    : command_(std::move(command)),
      is_terminal_(is_terminal()),
      quiet_(quiet),
      progress_(std::cerr, is_terminal_, quiet) {}

void TerminalListener::on_skipped(const std::vector<SkippedPicture>& skipped, int64_t total) {
  report_skipped(command_, skipped, total);
}

void TerminalListener::on_resume(int64_t round) {
  if (round == 0)
    print_message(fmt::format("tributary {}: resuming while the student learns the scores", command_));
  else
    print_message(fmt::format("tributary {}: resuming in round {}", command_, round));
}

void TerminalListener::on_memory_plan(const MemoryPlan& plan) {
  if (!quiet_) print_message(fmt::format("tributary {}: {}", command_, description(plan)));
}

void TerminalListener::on_memory_retry(const PassMemory& memory) {
  progress_.finish();
  tenths_ = -1;
  print_message(fmt::format("tributary {}: out of GPU memory; retrying with {}", command_, description(memory)));
}

void TerminalListener::on_warning(const std::string& message) {
  print_message(fmt::format("tributary {}: {}", command_, message));
}

void TerminalListener::on_progress(double share, const std::string& title, const std::string& facts) {
  if (is_terminal_) {
    progress_.update(share, title, facts);
    return;
  }
  if (!facts.empty()) last_facts_ = facts;
  const auto tenths = static_cast<int64_t>(10 * share + 1e-9);
  if (tenths <= tenths_) return;
  tenths_ = tenths;
  progress_.line(fmt::format("{}  {:>3} %{}{}", title, 10 * tenths, last_facts_.empty() ? "" : "  ", last_facts_));
}

void TerminalListener::on_trained() {
  progress_.finish();
}

std::unique_ptr<Observer> TerminalListener::make_observer(const AccuracyObserver* accuracy) {
  return std::make_unique<ProgressObserver>(progress_, accuracy);
}

}  // namespace tributary::cli

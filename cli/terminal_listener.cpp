#include "cli/terminal_listener.h"

#include <iostream>

#include "cli/command.h"
#include "tributary/base/print.h"
#include "tributary/run/observers.h"

namespace tributary::cli {

TerminalListener::TerminalListener(std::string command, bool quiet)
    : command_(std::move(command)), progress_(std::cerr, is_terminal(), quiet) {}

void TerminalListener::on_skipped(const std::vector<SkippedPicture>& skipped, int64_t total) {
  report_skipped(command_, skipped, total);
}

void TerminalListener::on_resume(int64_t round) {
  print_message(fmt::format("tributary {}: resuming in round {}", command_, round));
}

void TerminalListener::on_memory_retry(int64_t micro_batch) {
  progress_.finish();
  print_message(
      fmt::format("tributary {}: out of GPU memory; retrying with micro-batches of {}", command_, micro_batch));
}

void TerminalListener::on_warning(const std::string& message) {
  print_message(fmt::format("tributary {}: {}", command_, message));
}

void TerminalListener::on_progress(double share, const std::string& title, const std::string& facts) {
  progress_.update(share, title, facts);
}

void TerminalListener::on_trained() {
  progress_.finish();
}

std::unique_ptr<Observer> TerminalListener::make_observer() {
  return std::make_unique<ProgressObserver>(progress_);
}

}  // namespace tributary::cli

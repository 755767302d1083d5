#include "cli/terminal_listener.h"

#include <iostream>

#include "cli/command.h"
#include "tributary/run/observers.h"

namespace tributary::cli {

TerminalListener::TerminalListener(std::string command, bool quiet)
    : command_(std::move(command)), progress_(std::cerr, is_terminal(), quiet) {}

void TerminalListener::on_skipped(const std::vector<SkippedPicture>& skipped, int64_t total) {
  report_skipped(command_, skipped, total);
}

void TerminalListener::on_resume(int64_t round) {
  std::cerr << fmt::format("tributary {}: resuming in round {}\n", command_, round);
}

void TerminalListener::on_memory_retry(int64_t micro_batch) {
  progress_.finish();
  std::cerr << fmt::format("tributary {}: out of GPU memory; retrying with micro-batches of {}\n", command_,
                           micro_batch);
}

void TerminalListener::on_warning(const std::string& message) {
  std::cerr << fmt::format("tributary {}: {}\n", command_, message);
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

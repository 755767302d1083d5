// Prints the progress and messages of a run on standard error. Without a terminal, a line for every tenth of a training
// replaces the bar.
#pragma once

#include <string>

#include "tributary/run/run_listener.h"
#include "tributary/terminal/progress.h"

namespace tributary::cli {

class TerminalListener : public RunListener {
 public:
  // `quiet` hides the progress bar, the memory plan and the table of rounds.
  TerminalListener(std::string command, bool quiet);

  void on_skipped(const std::vector<SkippedPicture>& skipped, int64_t total) override;
  void on_resume(int64_t round) override;
  void on_memory_plan(const MemoryPlan& plan) override;
  void on_memory_retry(const PassMemory& memory) override;
  void on_warning(const std::string& message) override;
  void on_progress(double share, const std::string& title, const std::string& facts) override;
  void on_trained() override;
  std::unique_ptr<Observer> make_observer(const AccuracyObserver* accuracy) override;

 private:
  std::string command_;
  bool is_terminal_;
  bool quiet_;
  Progress progress_;
  int64_t tenths_ = -1;     // of the training, in the last line of progress without a terminal
  std::string last_facts_;  // that were not empty
};

}  // namespace tributary::cli

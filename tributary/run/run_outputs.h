// What a run leaves behind for people to look at: the history of its rounds, its report, curves for TensorBoard.
#pragma once

#include <memory>
#include <vector>

#include "tributary/report/report_data.h"
#include "tributary/run/observers.h"

namespace tributary {

struct RunOutputOptions {
  bool history = true;       // keeps what a report needs of every round
  bool page = true;          // writes report.html at the end
  bool live = false;         // and after every round, with what is known by then
  bool tensorboard = false;  // writes an event file into the run folder
  ReportOptions report;
};

// Everything declared here is transient: it does not make a run another one.
void declare(OptionTable& table, RunOutputOptions& options);

class RunOutputs {
 public:
  // Adds its observers to `listeners`. `accuracy`, if there is one, must be among them already.
  RunOutputs(const RunFolder& folder, const RunOutputOptions& options, const AccuracyObserver* accuracy,
             std::vector<Observer*>& listeners);

  // Writes the report of the finished run, if one is wanted, and the terms of the bound that are in it: as bound.jsonl,
  // an object a round, and as curves.
  void finish(const ReportSubject& subject) const;

 private:
  const RunFolder& folder_;
  const RunOutputOptions& options_;
  std::vector<std::unique_ptr<Observer>> observers_;
  TensorBoardObserver* curves_ = nullptr;  // among the observers; null where none are wanted
};

}  // namespace tributary

// The outputs of a run for people: the history of its rounds, the report and TensorBoard curves.
#pragma once

#include <memory>
#include <vector>

#include "tributary/report/report_data.h"
#include "tributary/run/observers.h"

namespace tributary {

struct RunOutputOptions {
  bool history = true;       // stores the data of every round that a report needs
  bool page = true;          // writes report.html at the end
  bool live = false;         // also writes it after every round
  bool tensorboard = false;  // writes an event file to the run folder
  ReportOptions report;
};

// All of these options are transient: they do not define the run.
void declare(OptionTable& table, RunOutputOptions& options);

class RunOutputs {
 public:
  // Adds its observers to `listeners`. `accuracy`, if not null, must already be among them.
  RunOutputs(const RunFolder& folder, const RunOutputOptions& options, const AccuracyObserver* accuracy,
             std::vector<Observer*>& listeners);

  // Stores the confidence of the result, float [n], for the report.
  void add_confidence(const Tensor& confidence) const;

  // Writes the report of the finished run, if enabled, and the terms of its bound: as bound.jsonl, one object per
  // round, and as TensorBoard curves.
  void finish(const ReportSubject& subject) const;

 private:
  const RunFolder& folder_;
  const RunOutputOptions& options_;
  std::vector<std::unique_ptr<Observer>> observers_;
  TensorBoardObserver* curves_ = nullptr;  // one of the observers; null if disabled
};

}  // namespace tributary

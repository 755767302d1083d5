// Receives the news of a run. The library prints nothing: the program prints these, a test collects them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tributary/data/skipped.h"
#include "tributary/methods/observer.h"
#include "tributary/train/memory_plan.h"

namespace tributary {

class AccuracyObserver;

class RunListener {
 public:
  virtual ~RunListener() = default;
  // Pictures of one data set that could not be read; `total` counts those that could, too.
  virtual void on_skipped(const std::vector<SkippedPicture>& /*skipped*/, int64_t /*total*/) {}
  // An adaptation resumes from a checkpoint in this round.
  virtual void on_resume(int64_t /*round*/) {}
  // How training will use the memory of the GPU, before the first step.
  virtual void on_memory_plan(const MemoryPlan& /*plan*/) {}
  // The GPU ran out of memory. The run starts again with passes that take less of it.
  virtual void on_memory_retry(const PassMemory& /*memory*/) {}
  virtual void on_warning(const std::string& /*message*/) {}
  // Training has done this share of its steps.
  virtual void on_progress(double /*share*/, const std::string& /*title*/, const std::string& /*facts*/) {}
  // Training is over; results are being written.
  virtual void on_trained() {}
  // An observer for one attempt at an adaptation, or null. `accuracy`, if not null, observes every round before it.
  virtual std::unique_ptr<Observer> make_observer(const AccuracyObserver* /*accuracy*/) { return nullptr; }
};

}  // namespace tributary

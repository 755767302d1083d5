// The student of sources that are only predictions: it learns their labels before the first round, so that it starts
// the rounds as a source like any other (docs/method.md, Sources that are only predictions).
#pragma once

#include <vector>

#include "tributary/comm/row_block.h"
#include "tributary/methods/selective/selective_options.h"
#include "tributary/model/source_model.h"
#include "tributary/train/sampler.h"
#include "tributary/train/sgd.h"
#include "tributary/train/training_loop.h"

namespace tributary {

// Trains all of a student, its classifier too, on the teachers' labels [n, K], rows that sum to 1. Ranks may keep the
// labels of their own rows; those of a batch are then exchanged in every step.
class StudentTask : public TrainingTask {
 public:
  // `student` and `options` must outlive it. The destructor restores which parameters require a gradient.
  StudentTask(SourceModel& student, const Tensor& labels, const SelectiveOptions& options, const RowBlock& rows = {});
  ~StudentTask() override;
  StudentTask(const StudentTask&) = delete;
  StudentTask& operator=(const StudentTask&) = delete;

  LoopOptions loop_options() const;
  int64_t steps() const { return steps_; }
  const Tensor& labels() const { return labels_; }
  // The state of the optimiser.
  NamedTensors state() const { return optimiser_.state(); }

  std::vector<std::string> loss_terms() const override { return {"cross-entropy of the student"}; }
  StepDraws draw(int64_t step) override;
  Tensor step(const StepInputs& inputs) override;

 private:
  SourceModel& student_;
  Tensor labels_;
  RowBlock rows_;
  const SelectiveOptions& options_;
  int64_t steps_;
  Sampler sampler_;
  std::vector<std::pair<Tensor, bool>> required_;  // parameters, and whether they required a gradient
  Sgd optimiser_;
};

}  // namespace tributary

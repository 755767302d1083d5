// Runs the steps of a round: eagerly on a CPU, recorded and repeated on a GPU.
//
// A step of many small kernels costs a GPU more in launches than in work. Steps of the usual shape are therefore
// recorded after a few eager ones and then repeated as a whole; the last batch of a sweep, which is smaller, and
// TorchScript sources stay eager. Both ways run the same code on the same numbers.
#pragma once

#include <map>
#include <optional>

#include "tributary/methods/selective_step.h"
#include "tributary/methods/step_plan.h"
#include "tributary/model/accelerator.h"

namespace tributary {

class StepRunner {
 public:
  // All three must outlive it.
  StepRunner(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options);

  // The selection in which the plans of the coming steps give positions.
  void begin_round(const Selection& selection);
  // One step; its losses are on the device.
  StepLosses run(const StepPlan& plan);

  const Augmentation& augmentation() const { return augmentation_; }

 private:
  struct Recorded {
    int eager = 0;  // times it was done eagerly
    std::optional<StepPlan> plan;
    StepLosses losses;
    RecordedWork work;
  };
  StepLosses step(const StepPlan& plan, const StepNoise& noise);

  Ensemble& ensemble_;
  const DeviceImages& images_;
  const SelectiveOptions& options_;
  Augmentation augmentation_;
  SelectiveStep step_;
  bool recordable_;
  Tensor confident_, unconfident_, label_;  // int64 [n] on the device, of the round
  std::map<StepShape, Recorded> recorded_;
};

}  // namespace tributary

// The steps of a round of selective self-training: planned on the host, done on the device.
//
// Batches at the end of a sweep are smaller than the others. Towards the end of an adaptation, when few unconfident
// pictures are left, such steps are half of all, so they are recorded too (recorded_steps.h), and forgotten with the
// round. Steps with TorchScript sources are never recorded.
#pragma once

#include "tributary/adapt/selection.h"
#include "tributary/methods/selective/selective_step.h"
#include "tributary/train/captured_steps.h"

namespace tributary {

// The pictures of a step as positions in the round's selection, int64 on the host; no unconfident ones (undefined)
// where too few are left.
struct StepPositions {
  Tensor confident, unconfident;
};

// What a step draws.
struct StepRandom {
  Random confident_cut, unconfident_cut, mixing, dropout;
};

class StepRunner {
 public:
  // All three must outlive it.
  StepRunner(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options);
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  // The selection in which the coming steps give positions.
  void begin_round(const Selection& selection);
  // May be called from another thread than `run`.
  StepPlan plan(const StepPositions& positions, const StepRandom& random, double rate_factor) const;
  // One step; its losses are on the device.
  StepLosses run(const StepPlan& plan);

  // What steps keep from one to the next, beside the sources.
  NamedTensors state() const { return step_.state(); }

  // Pictures that a step sends through every source.
  int64_t pictures(const StepPlan& plan) const;

 private:
  // The pictures of a step, as far as this process needs them: confident ones first.
  Tensor fetch(const StepPositions& positions, const Tensor& permutation) const;
  StepLosses step(const StepPlan& plan, StepNoise& dropout_stream);

  Ensemble& ensemble_;
  const DeviceImages& images_;
  const SelectiveOptions& options_;
  Augmentation augmentation_;
  SelectiveStep step_;
  CapturedSteps steps_;
  Tensor confident_, unconfident_, label_;    // int64 [n] on the device, of the round
  Tensor confident_rows_, unconfident_rows_;  // on the host, where pictures must be brought
};

}  // namespace tributary

// A moving average of the sources over the training steps, which labels the target set (a mean teacher).
//
// The iterates of SGD err on different pictures from step to step; their average errs on fewer, so its pseudo-labels
// are steadier. Training continues from the trained values. The labels, the reported accuracy and the result are those
// of the average. BatchNorm's running statistics are averaged like the parameters, so that they fit them.
#pragma once

#include <cstdint>

#include "tributary/model/ensemble.h"

namespace tributary {

class ModelAverage {
 public:
  // Starts at the present values of `ensemble`, which must outlive it and holds the trained values.
  explicit ModelAverage(Ensemble& ensemble);

  // average = decay * average + (1 - decay) * trained. Integers, such as the number of batches, are copied.
  void update(double decay);

  // Chooses what the ensemble holds, in the same memory. Choosing it twice changes nothing.
  void hold_average();
  void hold_trained();

  // The average, by the names of the ensemble's tensors. The ensemble must hold the trained values.
  const NamedTensors& state() const { return other_; }

 private:
  void swap();

  Ensemble& ensemble_;
  NamedTensors other_;  // what the ensemble does not hold
  bool holds_average_ = false;
};

// The decay per step after which `share` of the average is left after `steps` steps.
double decay_per_step(double share, int64_t steps);

}  // namespace tributary

// The two halves of a step of BAIT, apart from the method's schedule, so that each can be looked at alone.
#pragma once

#include "tributary/methods/bait/casting.h"
#include "tributary/model/source_model.h"
#include "tributary/train/sgd.h"

namespace tributary {

struct BaitStepOptions {
  HeadDistance distance = HeadDistance::kCode;
  double cast_weight = 10;  // tuned to the code's distance, which is small and bounded
  double rate_backbone = 1e-3, rate_bottleneck = 1e-3, rate_bait = 1e-3;
  bool mixed_precision = false;
  // Splits the batch by entropies from an evaluation pass. Dropout changes entropies more than pictures do.
  bool split_in_evaluation = false;
};

// The default learning rate of bottleneck and bait for so many steps. Features move further the more steps there are:
// on small pictures a constant 1e-3 suits 600 steps, and diverges over many more (docs/results.md, Digit-Five).
double bait_rate(bool photographs, int64_t steps);

// One source, its frozen classifier as the anchor, and the bait. An InputError names a source whose classifier cannot
// be copied.
class BaitStep {
 public:
  BaitStep(SourceModel& source, const BaitStepOptions& options);

  // Both take pixels, float [b, 3, s, s] in 0..1, and what the learning rates are multiplied with, float []; both
  // return their loss before the step. The two are meant for the same batch, each with a forward pass of its own.
  // Moves the bait.
  Tensor cast(const Tensor& pixels, DropoutStream& dropout_stream, const Tensor& rate_factor);
  // Moves the backbone and the bottleneck.
  Tensor bite(const Tensor& pixels, DropoutStream& dropout_stream, const Tensor& rate_factor);

  const BaitClassifier& bait() const { return bait_; }
  // The bait and what both optimisers keep.
  NamedTensors state() const;

 private:
  SourceModel& source_;
  BaitStepOptions options_;
  BaitClassifier bait_;
  Sgd features_optimiser_, bait_optimiser_;
};

}  // namespace tributary

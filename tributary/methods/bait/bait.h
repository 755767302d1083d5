// The two halves of a BAIT step, separate from the schedule, so that each can be tested alone.
#pragma once

#include "tributary/methods/bait/casting.h"
#include "tributary/model/source_model.h"
#include "tributary/train/sgd.h"
#include "tributary/train/trained_layers.h"

namespace tributary {

struct BaitStepOptions {
  HeadDistance distance = HeadDistance::kCode;
  double cast_weight = 10;  // tuned to the code's distance, which is small and bounded
  double rate_backbone = 1e-3, rate_bottleneck = 1e-3, rate_bait = 1e-3;
  bool mixed_precision = false;
  // Splits the batch by entropies from an evaluation pass.
  bool split_in_evaluation = false;
  BackboneTraining backbone{};
};

// The default learning rate of bottleneck and bait for this number of steps. Features move further with more steps:
// on small pictures a constant 1e-3 suits 600 steps and diverges over many more (docs/results.md, Digit-Five).
double bait_rate(bool photographs, int64_t steps);

// One source, its frozen classifier as the anchor, and the bait. Throws an InputError if the classifier of the source
// cannot be copied.
class BaitStep {
 public:
  BaitStep(SourceModel& source, const BaitStepOptions& options);

  // Both take pixels, float [b, 3, s, s] in 0..1, and a factor for the learning rates, float []. Both return the loss
  // before the update. Call both on the same batch; each runs its own forward pass.
  // Updates the bait.
  Tensor cast(const Tensor& pixels, DropoutStream& dropout_stream, const Tensor& rate_factor);
  // Updates the backbone and the bottleneck.
  Tensor bite(const Tensor& pixels, DropoutStream& dropout_stream, const Tensor& rate_factor);

  const BaitClassifier& bait() const { return bait_; }
  // The state of the bait and of both optimisers.
  NamedTensors state() const;

 private:
  SourceModel& source_;
  BaitStepOptions options_;
  BaitClassifier bait_;
  Sgd features_optimiser_, bait_optimiser_;
};

}  // namespace tributary

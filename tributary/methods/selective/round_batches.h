// The batches of one round of selective self-training: confident samples, and unconfident ones to align with.
#pragma once

#include <optional>

#include "tributary/adapt/selection.h"
#include "tributary/methods/selective/selective_options.h"
#include "tributary/train/sampler.h"

namespace tributary {

// The pictures of a step: rows of the target set, int64 on the host. `unconfident` is undefined if too few are left, or
// nothing needs them (`SelectiveOptions::unconfident_pass`).
struct StepRows {
  Tensor confident, unconfident;
};

// Two samplers, which restart each on its own or both together (`SelectiveOptions::pairing`).
class RoundBatches {
 public:
  RoundBatches(const Selection& selection, const SelectiveOptions& options, int64_t round);

  int64_t steps() const { return steps_; }
  // Whether steps have unconfident samples.
  bool aligns() const { return unconfident_.has_value(); }
  StepRows next();

 private:
  bool paired_;
  Tensor confident_rows_, unconfident_rows_;  // int64 on the host
  Sampler confident_;
  std::optional<Sampler> unconfident_;
  int64_t steps_;
};

}  // namespace tributary

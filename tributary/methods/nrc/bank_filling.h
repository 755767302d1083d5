// The passes that fill the banks of NRC and AaD (docs/baselines.md).
#pragma once

#include <utility>

#include "tributary/methods/learner.h"
#include "tributary/methods/nrc/reciprocity.h"

namespace tributary {

// phi [b, d] and logits [b, K], both float32, of pixels [b, 3, s, s] in 0..1. A training pass if `dropout_stream` is
// given.
std::pair<Tensor, Tensor> features_and_logits(SourceModel& source, const Tensor& pixels, DropoutStream* dropout_stream,
                                              bool mixed_precision);

// Fills both banks: an evaluation of augmented pictures. `index` is the number of the source.
void fill_banks(NeighbourBanks& banks, SourceModel& source, uint64_t index, const DeviceImages& images,
                const TrainingSchedule& schedule);

}  // namespace tributary

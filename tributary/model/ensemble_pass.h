// Training passes through the backbones of all sources, which ranks may divide by source.
//
// By source, every rank runs the passes of its own sources and then receives the features of the others. Callers do not
// know which sources are theirs.
#pragma once

#include <vector>

#include "tributary/device/accelerator.h"
#include "tributary/model/ensemble.h"

namespace tributary {

// The number of parallel branches for the training passes of an ensemble: one per source, or a single one if all
// activations are recomputed, because a branch cannot use memory that another one has freed.
int64_t branch_count(const Ensemble& ensemble);

struct BackbonePass {
  Tensor x;
  DropoutStream* dropout_stream;
};

// Backbone features of source j for each of passes[j]: features[j][i], [n, backbone width]. Empty for sources that are
// not divided by source; the caller runs their passes itself. `mixed_precision` computes in bfloat16 on a GPU.
std::vector<std::vector<Tensor>> divided_backbone_features(Ensemble& ensemble,
                                                           const std::vector<std::vector<BackbonePass>>& passes,
                                                           Branches& branches, bool mixed_precision);

}  // namespace tributary

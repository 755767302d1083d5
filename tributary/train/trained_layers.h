// How a backbone is trained: which of its layers, and with what limit on the gradient.
//
// A transformer that is adapted with few pictures forgets less if most of it stays as it is: only the normalisation, or
// the last residual branches, are trained. Without BatchNorm, single batches can have huge gradients.
#pragma once

#include <string>

#include "tributary/base/options.h"
#include "tributary/model/source_model.h"
#include "tributary/train/sgd.h"

namespace tributary {

struct BackboneTraining {
  std::string layers = "all";  // all, norm, or last-N
  double clip_gradient = -1;   // largest norm of the backbone's gradient; 0: any; negative: by the architecture
};

// Declares `train` and `clip_gradient`.
void declare(OptionTable& table, const std::string& section, BackboneTraining& training);

// The backbone's parameters that the rule `layers` trains. The others no longer require a gradient. Throws an
// InputError if the rule is unknown, or if the network has no such layers.
NamedTensors trained_backbone(const SourceModel& source, const std::string& layers);

// The largest norm of a backbone's gradient: `given`, or if that is negative 1 for networks without BatchNorm and none
// (0) for the others.
double clip_of(const SourceModel& source, double given);

// The optimiser's group of a backbone that is trained in this way.
SgdGroup backbone_group(const SourceModel& source, const BackboneTraining& training, double rate);

}  // namespace tributary

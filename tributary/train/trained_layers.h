// Which layers of a backbone are trained: all, the normalisation, or the last residual branches.
//
// A transformer that is adapted with few pictures forgets less if most of it stays as it is.
#pragma once

#include <string>

#include "tributary/base/options.h"
#include "tributary/model/source_model.h"

namespace tributary {

struct TrainedLayers {
  std::string rule = "all";  // all, norm, or last-N
};

void declare(OptionTable& table, const std::string& section, TrainedLayers& layers);

// The backbone's parameters that `layers` trains. The others no longer require a gradient. Throws an InputError if the
// rule is unknown, or if the network has no such layers.
NamedTensors trained_backbone(const SourceModel& source, const TrainedLayers& layers);

// The largest norm of a backbone's gradient: `given`, or if that is negative 1 for networks without BatchNorm and none
// (0) for the others.
double clip_of(const SourceModel& source, double given);

}  // namespace tributary

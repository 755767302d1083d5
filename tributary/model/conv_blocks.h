// Groups of layers that several convolutional networks share.
#pragma once

#include <optional>

#include "tributary/model/network.h"

namespace tributary {

// An activation of a plan; nullopt is ReLU.
using ActivationChoice = std::optional<Activation::Function>;
void add_activation(Network& net, ActivationChoice function);

struct SqueezeShape {
  int64_t channels, squeezed;
  ActivationChoice activation;  // between the two layers
  Activation::Function gate;
};

// Squeeze-and-excitation: multiplies the channels of the last value by gates between 0 and 1 that two 1x1 convolutions
// compute from their means.
void add_squeeze(Network& net, const SqueezeShape& shape, LayerName reduce, LayerName expand, const Init& init);

}  // namespace tributary

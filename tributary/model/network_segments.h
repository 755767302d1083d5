// Division of a network into segments, which can be recomputed one at a time in the backward pass (recomputed_pass.h).
#pragma once

#include "tributary/model/network.h"

namespace tributary {

// Divides the layers of `network` into consecutive ranges that share one value only, as residual blocks do: each range
// reads the last value of the one before it. Chosen so that a step which holds the input of every range of several
// passes, and all values of the largest range, takes the least memory for pictures of `size` x `size`.
std::vector<LayerRange> segments_of(const Network& network, int64_t size);

}  // namespace tributary

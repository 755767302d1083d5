// Synchronised BatchNorm: a training pass with the statistics of the rows of all ranks.
#pragma once

#include "tributary/comm/communicator.h"

namespace tributary {

struct BatchNormTensors {
  Tensor weight, bias;
  Tensor running_mean, running_var;  // updated in place; undefined if they must not change
  double momentum, epsilon;
};

// `x` holds this rank's rows, [rows >= 1, channels, ...]. The gradients of weight and bias cover this rank's rows only
// and must be summed over ranks; the gradient of `x` is complete.
Tensor sync_batch_norm(Communicator& comm, const Tensor& x, const BatchNormTensors& tensors);

}  // namespace tributary

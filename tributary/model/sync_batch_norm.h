// BatchNorm in training over the rows of all ranks: their statistics are those of the whole batch.
#pragma once

#include "tributary/comm/communicator.h"

namespace tributary {

struct BatchNormTensors {
  Tensor weight, bias;
  Tensor running_mean, running_var;  // moved; undefined where they are to stay
  double momentum, epsilon;
};

// `x` [rows of this rank, channels, ...], at least one row. The gradients of weight and bias are those of the own rows;
// that of `x` is the whole one.
Tensor shared_batch_norm(Communicator& comm, const Tensor& x, const BatchNormTensors& tensors);

}  // namespace tributary

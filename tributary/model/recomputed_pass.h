// Forward pass that stores its input only: the backward pass computes the activations a second time.
//
// Activations take most of the memory of a training step. Without them a step costs one more forward pass.
#pragma once

#include <functional>

#include "tributary/device/dropout_stream.h"

namespace tributary {

// A training pass over `x`. `again` is true in the backward pass, where side effects of the first pass (running
// statistics) must not be repeated.
using PassForward = std::function<Tensor(const Tensor& x, DropoutStream* dropout_stream, bool again)>;

// Returns forward(x) and draws its masks from `dropout_stream`, a stream of this pass alone; the second pass gets the
// same masks. Gradients of parameters are available through backward() only, not through grad().
Tensor recomputed(const Tensor& x, DropoutStream& dropout_stream, const PassForward& forward);

}  // namespace tributary

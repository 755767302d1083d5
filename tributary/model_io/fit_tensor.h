// Brings imported tensors into the shape that a network needs.
#pragma once

#include <string>

#include "tributary/base/tensor.h"

namespace tributary {

// The side of the square grid of `positions` tokens, with or without one more for the class token; 0 if there is none.
int64_t grid_side(int64_t positions);

// `value` in the shape of `needed`, a tensor with our name `name`. Positions of a transformer are interpolated to
// another grid as timm does it: bicubic, with antialiasing; the class token's position is kept, or zero if there is
// none. Other tensors may differ in dimensions of extent one. Undefined if the shapes do not match.
Tensor fitted(const Tensor& value, const Tensor& needed, const std::string& name);

}  // namespace tributary

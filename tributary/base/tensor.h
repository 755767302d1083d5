// The one way our files include Torch: types and operators, without the slow module headers. Precompiled.
#pragma once

#include <torch/types.h>

namespace tributary {

using torch::Tensor;

}  // namespace tributary

// Includes Torch's types and operators, without the module headers, which compile slowly. Precompiled.
#pragma once

#include <torch/types.h>

namespace tributary {

using torch::Tensor;

}  // namespace tributary

// The calibration of a source on labelled pictures of its own domain.
#pragma once

#include <string>

#include "tributary/base/tensor.h"
#include "tributary/io/calibration.h"

namespace tributary {

// From logits [n, K] and labels int64 [n]; `split` as in Calibration.
Calibration calibrate(const Tensor& logits, const Tensor& label, const std::string& split);

}  // namespace tributary

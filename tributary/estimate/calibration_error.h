// Expected calibration error: how far confidence and accuracy differ.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// The mean of |accuracy - mean confidence| over equal bins (b / bins, (b + 1) / bins], weighted by their pictures.
// `confidence` is float [n] in 0..1, `right` bool [n].
double expected_calibration_error(const Tensor& confidence, const Tensor& right, int64_t bins = 15);

}  // namespace tributary

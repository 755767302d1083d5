// Which predictions to check by hand, so that the others hold few errors.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// Above every confidence.
inline constexpr double kAcceptNone = 2;

// The confidence below which predictions must be checked, for calibrated confidences float [n]: the least one for which
// those of at least as much have a mean of at least 1 - `error`; kAcceptNone if there is none.
double check_threshold(const Tensor& confidence, double error);

// bool [n]: the pictures to check.
Tensor below_threshold(const Tensor& confidence, double threshold);

}  // namespace tributary

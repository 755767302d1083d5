// Draws from a symmetric Beta distribution, for the ratios of mixup.
#pragma once

#include "tributary/base/random.h"

namespace tributary {

// A draw from Beta(alpha, alpha), alpha > 0. Uses libm, so bitwise equal on one platform only.
double beta_draw(Random& random, double alpha);

}  // namespace tributary

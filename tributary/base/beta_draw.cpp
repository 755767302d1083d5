#include "tributary/base/beta_draw.h"

#include <cmath>

namespace tributary {
namespace {

// The logarithm of a Gamma(shape, 1) draw: Marsaglia and Tsang (2000) for shape + 1, and U^(1/shape) for the step down.
// It stays finite where a small shape makes the draw itself underflow.
double log_gamma_draw(Random& random, double shape) {
  const double d = shape + 1 - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  const double step_down = std::log(1 - random.uniform()) / shape;
  for (;;) {
    const double x = random.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v) + step_down;
  }
}

}  // namespace

double beta_draw(Random& random, double alpha) {
  const double one = log_gamma_draw(random, alpha), other = log_gamma_draw(random, alpha);
  return 1 / (1 + std::exp(other - one));
}

}  // namespace tributary

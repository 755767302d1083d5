// The learning-rate schedule of all training loops (docs/method.md, Source training): it decays from the first step.
#pragma once

#include <cmath>
#include <cstdint>

namespace tributary {

// (1 + 10 i / I)^-0.75 for step i of 1..I, by which initial rates are multiplied.
inline double decay_factor(int64_t step, int64_t steps) {
  return std::pow(1 + 10 * static_cast<double>(step) / static_cast<double>(steps), -0.75);
}

}  // namespace tributary

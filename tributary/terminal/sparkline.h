// Draws a series of numbers as blocks, ▁ to █.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

// Scaled from the minimum to the maximum; equal values are drawn at half height. If there are more than `columns`
// values, an evenly spaced subset is drawn, including the first and the last.
std::string sparkline(const std::vector<double>& values, int64_t columns = 20);

}  // namespace tributary

// Encodes RGB pixels as PNG in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tributary {

// `rgb` is [height, width, 3], row-major.
std::vector<uint8_t> encode_png(std::span<const uint8_t> rgb, int height, int width);

}  // namespace tributary

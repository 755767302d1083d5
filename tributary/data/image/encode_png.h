// Pictures out: RGB bytes to a PNG file in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tributary {

// `rgb` holds height x width pixels of three bytes, row by row.
std::vector<uint8_t> encode_png(std::span<const uint8_t> rgb, int height, int width);

}  // namespace tributary

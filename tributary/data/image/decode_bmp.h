// Decodes BMP, the bitmaps of Windows and OS/2. Called by decode_picture.
//
// Reads palettes of 1, 4 and 8 bits, also run-length encoded, and 16, 24 and 32 bits with any bit masks. Alpha is
// dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

Picture decode_bmp(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory = {});

}  // namespace tributary

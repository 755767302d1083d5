// Decodes the first frame of a GIF with giflib. Called by decode_picture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// Later frames are not read. Pixels that the first frame does not cover have its transparent colour, or else the first
// of its palette, as in Pillow. Throws a PictureError for every file in builds without giflib.
Picture decode_gif(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory = {});

}  // namespace tributary

// WebP to RGB through libwebp: decode_picture's part for WebP.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// An animation is refused, and every WebP is where the build had no libwebp.
Picture decode_webp(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory = {});

}  // namespace tributary

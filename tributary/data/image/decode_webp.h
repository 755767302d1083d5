// Decodes WebP with libwebp. Called by decode_picture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// Throws a PictureError for animations, and for every file in builds without libwebp.
Picture decode_webp(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory = {});

}  // namespace tributary

// Uncompressed pictures in shards: binary PPM (P6).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// Accepts exactly "P6\nWIDTH HEIGHT\n255\n" and the pixels: no comments, other depths or trailing bytes.
Picture decode_ppm(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory = {});

std::vector<uint8_t> encode_ppm(const Picture& picture);

}  // namespace tributary

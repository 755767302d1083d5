// Raw pixels with a size: the P6 form of PPM, only for pictures in shards, so that nothing has to be decoded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// Exactly "P6\nWIDTH HEIGHT\n255\n" and the pixels: no comments, no other depth, nothing behind.
Picture decode_ppm(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory = {});

std::vector<uint8_t> encode_ppm(const Picture& picture);

}  // namespace tributary

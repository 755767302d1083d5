// Decodes JPEG with libjpeg-turbo. Called by decode_picture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

Picture decode_jpeg(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory = {});

}  // namespace tributary

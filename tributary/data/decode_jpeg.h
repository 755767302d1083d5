// JPEG to RGB through libjpeg-turbo: decode_picture's half for JPEG.
#pragma once

#include <cstdint>
#include <span>

#include "tributary/data/picture.h"

namespace tributary {

Picture decode_jpeg(std::span<const uint8_t> bytes, const DecodeLimits& limits);

}  // namespace tributary

// Decodes the first page of a TIFF with libtiff. Called by decode_picture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// Reads bilevel, grey, palette, RGB and CMYK of 1 to 16 bits, in strips or tiles, uncompressed or with LZW, Deflate,
// PackBits, JPEG or fax compression. Of 16 bits the high byte is kept, alpha and further samples are dropped. Throws a
// PictureError for other files, and for every file in builds without libtiff.
Picture decode_tiff(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory = {});

}  // namespace tributary

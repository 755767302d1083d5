// Bytes of a JPEG, PNG or WebP file to RGB pixels, equal to Pillow's.
//
// Published models were trained on what Pillow decodes, so a target picture must look the same to them: for every
// format below the pixels are those of `ImageOps.exif_transpose(Image.open(f)).convert("RGB")`. JPEG: grey, YCbCr, RGB,
// CMYK and YCCK (with Adobe's inverted ink), baseline and progressive, upright by its EXIF orientation. PNG: every
// colour type and depth, interlaced or not; alpha is dropped, not composited; upright by its EXIF orientation. WebP,
// where the build has libwebp: lossy and lossless, the same with alpha and orientation; animations are refused. There
// are two departures: of 16-bit grey, where Pillow clips everything above 255 to white, we keep the high byte; and the
// texts of a PNG, in which old programs noted an orientation, are not read.
//
// Files are untrusted. The header is checked before pixels are allocated, and a file that ends early or holds corrupt
// data is refused where the libraries would only warn and fill up with grey.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// Decodes a picture by its first bytes, whatever the file is called. Throws PictureError. `memory`, if given, becomes
// the picture's: taking the same block again and again is faster than a fresh one.
Picture decode_picture(std::span<const uint8_t> bytes, const DecodeLimits& limits = {},
                       std::vector<uint8_t> memory = {});

// True if the bytes begin like a JPEG, PNG or WebP file.
bool looks_like_picture(std::span<const uint8_t> bytes);

// True for names that end in .jpg, .jpeg, .png or .webp, in any case.
bool looks_like_picture_name(const std::string& path);

}  // namespace tributary

// Decodes JPEG, PNG, WebP, TIFF, BMP and GIF to RGB pixels that equal Pillow's.
//
// Published models were trained on pictures decoded by Pillow, so our pixels equal those of
// `ImageOps.exif_transpose(Image.open(f)).convert("RGB")`. JPEG: grey, YCbCr, RGB, CMYK and YCCK (inverted, as in
// Adobe's files), baseline and progressive. PNG: all colour types and depths, also interlaced. WebP (builds with
// libwebp): lossy and lossless, no animations. TIFF (builds with libtiff): the first page. GIF (builds with giflib):
// the first frame. Alpha is dropped, EXIF orientation is applied. There are two differences: 16-bit grey keeps the high
// byte, where Pillow clips values above 255 to white; and orientations in PNG text chunks are ignored. Files are
// untrusted: the header is checked before pixels are allocated, and truncated or corrupt data is an error even where
// the libraries would warn and fill with grey.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// Decodes a picture; the format is detected by content. Throws a PictureError. The result reuses `memory`, which avoids
// page faults for fresh blocks.
Picture decode_picture(std::span<const uint8_t> bytes, const DecodeLimits& limits = {},
                       std::vector<uint8_t> memory = {});

// The formats, for messages: "JPEG, PNG, ... or GIF".
constexpr const char* kPictureFormats = "JPEG, PNG, WebP, TIFF, BMP or GIF";

// Whether the bytes start like a file of one of these formats.
bool looks_like_picture(std::span<const uint8_t> bytes);

// Whether the name ends in .jpg, .jpeg, .jfif, .png, .webp, .tif, .tiff, .bmp or .gif, ignoring case.
bool looks_like_picture_name(const std::string& path);

}  // namespace tributary

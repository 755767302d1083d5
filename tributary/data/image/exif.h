// Reads the EXIF orientation of a picture and applies it.
//
// Phones store pictures in sensor orientation, with a tag. Models trained on upright pictures would silently lose
// accuracy on rotated ones.
#pragma once

#include <cstdint>
#include <span>

#include "tributary/data/image/picture.h"

namespace tributary {

// The orientation, 1..8, in the payload of a JPEG's APP1 segment ("Exif", two zeros, a TIFF of either byte order), a
// PNG's eXIf chunk (the TIFF only) or a WebP's EXIF chunk (either form). 1 (upright) if the payload is not valid EXIF
// or has no orientation.
int exif_orientation(std::span<const uint8_t> segment);

// Rotates and flips the picture as PIL.ImageOps.exif_transpose.
Picture apply_orientation(Picture picture, int orientation);

}  // namespace tributary

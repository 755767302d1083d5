// How a camera was held: the EXIF orientation of a picture, and turning a picture upright by it.
//
// Phones store pictures as the sensor saw them and note the orientation beside. A model trained on upright pictures
// loses accuracy on sideways ones without any visible error, so the note is honoured.
#pragma once

#include <cstdint>
#include <span>

#include "tributary/data/image/picture.h"

namespace tributary {

// The orientation, 1..8, in the payload of a JPEG's APP1 segment ("Exif", two zeros, a TIFF of either byte order), of a
// PNG's eXIf chunk (the TIFF alone) or of a WebP's EXIF chunk (either). 1, upright, if it is not EXIF, has no
// orientation, or points outside of itself.
int exif_orientation(std::span<const uint8_t> segment);

// The picture turned upright, as PIL.ImageOps.exif_transpose does.
Picture turn_upright(Picture picture, int orientation);

}  // namespace tributary

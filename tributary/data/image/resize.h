// Bilinear and bicubic resizing, bitwise equal to Pillow's.
//
// Published source models were trained on pictures resized by Pillow; even a difference of one grey level on a quarter
// of the values is a small domain shift. The filter is antialiased: when shrinking, the filter is widened by the
// scale. There are two passes, rows first, each in 22-bit fixed point with an 8-bit intermediate picture.
#pragma once

#include "tributary/data/image/picture.h"

namespace tributary {

enum class Interpolation { kBilinear, kBicubic };

// Equals Pillow's Image.resize((width, height), Image.BILINEAR or BICUBIC). Passes that do not change the size are
// skipped.
Picture resize_picture(const Picture& picture, int height, int width, Interpolation interpolation);
inline Picture resize_bilinear(const Picture& picture, int height, int width) {
  return resize_picture(picture, height, width, Interpolation::kBilinear);
}

}  // namespace tributary

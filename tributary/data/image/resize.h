// Bilinear resizing, bitwise equal to Pillow's.
//
// Published source models were trained on pictures resized by Pillow; even a difference of one grey level on a quarter
// of the values is a small domain shift. The filter is antialiased: when shrinking, the triangle is widened by the
// scale. There are two passes, rows first, each in 22-bit fixed point with an 8-bit intermediate picture.
#pragma once

#include "tributary/data/image/picture.h"

namespace tributary {

// Equals Pillow's Image.resize((width, height), Image.BILINEAR). Passes that do not change the size are skipped.
Picture resize_bilinear(const Picture& picture, int height, int width);

}  // namespace tributary

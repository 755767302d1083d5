// Resizing as Pillow does it, to the last bit.
//
// Published source models saw pictures that Pillow had resized; a resize that is off by one grey level on a quarter of
// the values is a small domain shift of its own. The triangle filter is widened by the scale when shrinking, so that
// every source pixel counts. Two passes, rows first, each in 22-bit fixed point with an 8-bit picture between them.
#pragma once

#include "tributary/data/image/picture.h"

namespace tributary {

// Equals Image.resize((width, height), Image.BILINEAR) of Pillow. A pass whose size does not change is left out.
Picture resize_bilinear(const Picture& picture, int height, int width);

}  // namespace tributary

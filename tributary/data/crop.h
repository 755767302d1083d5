// Resizes and crops pictures to the square that is kept in memory (base/preprocessing.h).
#pragma once

#include <cstdint>
#include <span>

#include "tributary/base/preprocessing.h"
#include "tributary/data/image/picture.h"

namespace tributary {

// Returns a square of `preprocessing.resize` pixels, resized as in Pillow. With `keep_aspect`, the shorter side is
// resized as in torchvision's Resize, and the crop is placed such that its own centre crop of `preprocessing.size`
// equals torchvision's CenterCrop of the whole picture.
Picture preprocessed(Picture picture, const Preprocessing& preprocessing);

// Decodes `bytes`, preprocesses the picture and writes its pixels to `to`. Reuses one buffer per thread.
void decode_preprocessed(std::span<const uint8_t> bytes, const Preprocessing& preprocessing, const DecodeLimits& limits,
                         uint8_t* to);

// The first row or column of a centre crop of `size` from `length`, rounded as in torchvision's CenterCrop.
int centre_offset(int length, int size);

}  // namespace tributary

// A picture brought to the square that the networks are shown a part of.
#pragma once

#include <cstdint>
#include <span>

#include "tributary/base/preprocessing.h"
#include "tributary/data/image/picture.h"

namespace tributary {

// `preprocessing.resize` pixels wide and high, resized as Pillow does it. Where the aspect is kept, the shorter side is
// resized as torchvision's Resize does it and the part around the middle is cut out, such that its own middle of
// `preprocessing.size` is what torchvision's CenterCrop would take.
Picture preprocessed(Picture picture, const Preprocessing& preprocessing);

// The picture in a file's `bytes`, framed, at `to`. Each thread takes the same memory for it again and again.
void decode_preprocessed(std::span<const uint8_t> bytes, const Preprocessing& preprocessing, const DecodeLimits& limits,
                         uint8_t* to);

// The first row or column of the middle `size` of `length`, rounded as torchvision's CenterCrop rounds it.
int centre_offset(int length, int size);

}  // namespace tributary

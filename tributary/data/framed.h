// A picture brought to the square that the networks are shown a part of.
#pragma once

#include <cstdint>
#include <span>

#include "tributary/base/framing.h"
#include "tributary/data/picture.h"

namespace tributary {

// `framing.resize` pixels wide and high, resized as Pillow does it. Where the aspect is kept, the shorter side is
// resized as torchvision's Resize does it and the part around the middle is cut out, such that its own middle of
// `framing.size` is what torchvision's CenterCrop would take.
Picture framed(Picture picture, const Framing& framing);

// The picture in a file's `bytes`, framed, at `to`. Each thread takes the same memory for it again and again.
void decode_framed(std::span<const uint8_t> bytes, const Framing& framing, const DecodeLimits& limits, uint8_t* to);

// The first row or column of the middle `size` of `length`, rounded as torchvision's CenterCrop rounds it.
int middle_offset(int length, int size);

}  // namespace tributary

// A picture brought to the square that the networks are shown a part of.
#pragma once

#include "tributary/base/framing.h"
#include "tributary/data/picture.h"

namespace tributary {

// `framing.resize` pixels wide and high, resized as Pillow does it. Where the aspect is kept, the shorter side is
// resized as torchvision's Resize does it and the part around the middle is cut out, such that its own middle of
// `framing.size` is what torchvision's CenterCrop would take.
Picture framed(const Picture& picture, const Framing& framing);

// The first row or column of the middle `size` of `length`, rounded as torchvision's CenterCrop rounds it.
int middle_offset(int length, int size);

}  // namespace tributary

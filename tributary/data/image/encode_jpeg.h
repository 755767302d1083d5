// Pictures out: RGB pixels to a JPEG file in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// As Pillow's save(quality=…) writes it: baseline, colours at half the resolution. `quality` of 1 .. 100.
std::vector<uint8_t> encode_jpeg(const Picture& picture, int quality);

}  // namespace tributary

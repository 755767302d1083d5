// Encodes RGB pixels as JPEG in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

// Equals Pillow's save(quality=…): baseline, 4:2:0 chroma subsampling. `quality` is 1 .. 100.
std::vector<uint8_t> encode_jpeg(const Picture& picture, int quality);

}  // namespace tributary

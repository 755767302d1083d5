// Pictures of one file, as the file has them.
#pragma once

#include <cstdint>
#include <vector>

namespace tributary {

// One behind the other, row by row, the channels of a pixel together.
struct PackedImages {
  int64_t count = 0;
  int height = 0;
  int width = 0;
  int channels = 0;            // 1: grey, 3: RGB
  std::vector<uint8_t> bytes;  // count * height * width * channels
};

}  // namespace tributary

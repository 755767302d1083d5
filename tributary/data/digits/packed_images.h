// The pictures of a packed file.
#pragma once

#include <cstdint>
#include <vector>

namespace tributary {

// [count, height, width, channels], row-major.
struct PackedImages {
  int64_t count = 0;
  int height = 0;
  int width = 0;
  int channels = 0;            // 1: grey, 3: RGB
  std::vector<uint8_t> bytes;  // count * height * width * channels
};

}  // namespace tributary

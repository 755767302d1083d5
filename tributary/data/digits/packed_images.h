// The pictures of a packed file.
#pragma once

#include <cstdint>
#include <string>
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

// Throws an InputError if the pictures that the header of `path` promises are too large or too many. Their sizes are
// positive. Call it before memory is allocated: gzip promises a thousand times the bytes of a file.
void require_packed_size(const std::string& path, int64_t count, int64_t height, int64_t width, int64_t channels);

}  // namespace tributary

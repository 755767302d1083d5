// One decoded picture, and the error of one that cannot be decoded.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace tributary {

// RGB, 8 bits, row-major.
struct Picture {
  int height = 0;
  int width = 0;
  std::vector<uint8_t> rgb;  // height * width * 3

  int64_t row_bytes() const { return int64_t{3} * width; }
};

// A picture that cannot be read. The message is the reason only ("truncated JPEG"); the caller adds the file.
class PictureError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Limits that are checked before pixels are allocated.
struct DecodeLimits {
  int64_t max_pixels = 64'000'000;  // height * width
};

// Throws a PictureError unless both sides are positive and the picture fits the limits.
void check_picture_size(int64_t height, int64_t width, const DecodeLimits& limits);

}  // namespace tributary

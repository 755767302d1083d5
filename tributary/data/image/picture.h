// One decoded picture, and the error of one that cannot be decoded.
#pragma once

#include <cstddef>
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

// Throws a PictureError if a file of `bytes` bytes is too short for the pixels, before they are allocated. No format
// with 8 bits per pixel packs more than 4096 of them into a byte; small pictures may leave out more.
void check_picture_bytes(int64_t height, int64_t width, size_t bytes, const char* format);

}  // namespace tributary

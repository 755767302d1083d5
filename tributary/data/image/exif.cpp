#include "tributary/data/image/exif.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tributary {
namespace {

// Reads numbers of a TIFF in its byte order. Out of bounds, they are 0.
class TiffBytes {
 public:
  TiffBytes(std::span<const uint8_t> bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  uint32_t u16(size_t at) const { return number(at, 2); }
  uint32_t u32(size_t at) const { return number(at, 4); }

 private:
  uint32_t number(size_t at, size_t length) const {
    if (at > bytes_.size() || bytes_.size() - at < length) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < length; ++i) value = value << 8 | bytes_[big_endian_ ? at + i : at + length - 1 - i];
    return value;
  }

  std::span<const uint8_t> bytes_;
  bool big_endian_;
};

// How to traverse the stored picture in upright order: the byte offset of the first pixel, and the byte strides of one
// pixel to the right and one row down.
struct Traversal {
  int64_t start;
  int64_t right;
  int64_t down;
};

Traversal traversal_for(int orientation, int64_t height, int64_t width) {
  const int64_t row = 3 * width;
  const int64_t last_column = 3 * (width - 1);
  const int64_t last_row = row * (height - 1);
  switch (orientation) {
    case 2:
      return {last_column, -3, row};
    case 3:
      return {last_row + last_column, -3, -row};
    case 4:
      return {last_row, 3, -row};
    case 5:
      return {0, row, 3};
    case 6:
      return {last_row, -row, 3};
    case 7:
      return {last_row + last_column, -row, -3};
    case 8:
      return {last_column, row, -3};
    default:
      return {0, 3, row};
  }
}

}  // namespace

int exif_orientation(std::span<const uint8_t> segment) {
  static constexpr uint8_t kExif[6] = {'E', 'x', 'i', 'f', 0, 0};
  const bool named = segment.size() >= sizeof kExif && std::memcmp(segment.data(), kExif, sizeof kExif) == 0;
  const std::span<const uint8_t> bytes = segment.subspan(named ? sizeof kExif : 0);
  if (bytes.size() < 8) return 1;
  const bool big_endian = bytes[0] == 'M' && bytes[1] == 'M';
  if (!big_endian && !(bytes[0] == 'I' && bytes[1] == 'I')) return 1;
  const TiffBytes tiff(bytes, big_endian);
  if (tiff.u16(2) != 42) return 1;

  static constexpr uint32_t kOrientation = 0x0112, kShort = 3, kLong = 4;
  const size_t directory = tiff.u32(4);
  const uint32_t entries = tiff.u16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    if (entry >= bytes.size()) break;
    if (tiff.u16(entry) != kOrientation) continue;
    const uint32_t type = tiff.u16(entry + 2);
    const uint32_t value = type == kShort ? tiff.u16(entry + 8) : type == kLong ? tiff.u32(entry + 8) : 1;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Picture apply_orientation(Picture picture, int orientation) {
  if (orientation < 2 || orientation > 8) return picture;
  Picture upright{picture.height, picture.width, std::vector<uint8_t>(picture.rgb.size())};
  if (orientation >= 5) std::swap(upright.height, upright.width);
  const Traversal walk = traversal_for(orientation, picture.height, picture.width);
  uint8_t* out = upright.rgb.data();
  for (int y = 0; y < upright.height; ++y) {
    for (int x = 0; x < upright.width; ++x, out += 3)
      std::copy_n(picture.rgb.data() + walk.start + walk.down * y + walk.right * x, 3, out);
  }
  return upright;
}

}  // namespace tributary

#include "tributary/data/framed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tributary/data/decode.h"
#include "tributary/data/resize.h"

namespace tributary {
namespace {

Picture cut(const Picture& picture, int top, int left, int size) {
  Picture part{size, size, std::vector<uint8_t>(static_cast<size_t>(3) * size * size)};
  for (int y = 0; y < size; ++y)
    std::memcpy(part.rgb.data() + part.row_bytes() * y,
                picture.rgb.data() + picture.row_bytes() * (top + y) + static_cast<size_t>(3) * left, part.row_bytes());
  return part;
}

}  // namespace

int middle_offset(int length, int size) {
  return static_cast<int>(std::nearbyint((length - size) / 2.0));
}

Picture framed(Picture picture, const Framing& framing) {
  if (picture.height == framing.resize && picture.width == framing.resize) return picture;
  if (!framing.keep_aspect || picture.height == picture.width)
    return resize_bilinear(picture, framing.resize, framing.resize);
  const int shorter = std::min(picture.height, picture.width);
  const int longer = std::max(picture.height, picture.width);
  constexpr int kMostAspect = 100;
  if (longer / shorter >= kMostAspect) throw PictureError("a strip of more than 1 to 100, whose aspect cannot be kept");
  const auto scaled = [&](int side) {
    return side == shorter
               ? framing.resize
               : static_cast<int>(static_cast<double>(framing.resize) * side / static_cast<double>(shorter));
  };
  const Picture resized = resize_bilinear(picture, scaled(picture.height), scaled(picture.width));
  const auto offset = [&](int length) {
    const int wanted = middle_offset(length, framing.size) - middle_offset(framing.resize, framing.size);
    return std::clamp(wanted, 0, length - framing.resize);
  };
  return cut(resized, offset(resized.height), offset(resized.width), framing.resize);
}

void decode_framed(std::span<const uint8_t> bytes, const Framing& framing, const DecodeLimits& limits, uint8_t* to) {
  thread_local std::vector<uint8_t> memory;
  Picture picture = framed(decode_picture(bytes, limits, std::move(memory)), framing);
  std::memcpy(to, picture.rgb.data(), picture.rgb.size());
  memory = std::move(picture.rgb);
}

}  // namespace tributary

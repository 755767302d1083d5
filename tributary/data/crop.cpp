#include "tributary/data/crop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tributary/data/image/decode.h"
#include "tributary/data/image/resize.h"

namespace tributary {
namespace {

Picture crop_square(const Picture& picture, int top, int left, int size) {
  Picture part{size, size, std::vector<uint8_t>(static_cast<size_t>(3) * size * size)};
  for (int y = 0; y < size; ++y)
    std::memcpy(part.rgb.data() + part.row_bytes() * y,
                picture.rgb.data() + picture.row_bytes() * (top + y) + static_cast<size_t>(3) * left, part.row_bytes());
  return part;
}

}  // namespace

int centre_offset(int length, int size) {
  return static_cast<int>(std::nearbyint((length - size) / 2.0));
}

Picture preprocessed(Picture picture, const Preprocessing& preprocessing) {
  const Interpolation interpolation = preprocessing.bicubic ? Interpolation::kBicubic : Interpolation::kBilinear;
  if (picture.height == preprocessing.resize && picture.width == preprocessing.resize) return picture;
  if (!preprocessing.keep_aspect || picture.height == picture.width)
    return resize_picture(picture, preprocessing.resize, preprocessing.resize, interpolation);
  const int shorter = std::min(picture.height, picture.width);
  const int longer = std::max(picture.height, picture.width);
  constexpr int kMaxAspect = 100;
  if (longer / shorter >= kMaxAspect) throw PictureError("aspect ratio above 100, which keep_aspect does not support");
  const auto scaled = [&](int side) {
    return side == shorter
               ? preprocessing.resize
               : static_cast<int>(static_cast<double>(preprocessing.resize) * side / static_cast<double>(shorter));
  };
  // The longer side may come out far longer than in the file.
  if (int64_t{scaled(picture.height)} * scaled(picture.width) > DecodeLimits{}.max_pixels)
    throw PictureError(fmt::format("{} x {} pixels, too many once the shorter side is resized to {}", picture.width,
                                   picture.height, preprocessing.resize));
  const Picture resized = resize_picture(picture, scaled(picture.height), scaled(picture.width), interpolation);
  const auto offset = [&](int length) {
    const int wanted =
        centre_offset(length, preprocessing.size) - centre_offset(preprocessing.resize, preprocessing.size);
    return std::clamp(wanted, 0, length - preprocessing.resize);
  };
  return crop_square(resized, offset(resized.height), offset(resized.width), preprocessing.resize);
}

void decode_preprocessed(std::span<const uint8_t> bytes, const Preprocessing& preprocessing, const DecodeLimits& limits,
                         uint8_t* to) {
  thread_local std::vector<uint8_t> memory;
  Picture picture = preprocessed(decode_picture(bytes, limits, std::move(memory)), preprocessing);
  std::memcpy(to, picture.rgb.data(), picture.rgb.size());
  memory = std::move(picture.rgb);
}

}  // namespace tributary

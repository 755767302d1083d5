#include "tributary/data/image/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "tributary/data/image/decode_jpeg.h"
#include "tributary/data/image/decode_png.h"
#include "tributary/data/image/decode_webp.h"

namespace tributary {
namespace {

constexpr std::array<uint8_t, 3> kJpegStart = {0xff, 0xd8, 0xff};
constexpr std::array<uint8_t, 8> kPngStart = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<uint8_t, 4> kRiffStart = {'R', 'I', 'F', 'F'};
constexpr std::array<uint8_t, 4> kWebpName = {'W', 'E', 'B', 'P'};

template <size_t kLength>
bool starts_with(std::span<const uint8_t> bytes, const std::array<uint8_t, kLength>& start) {
  return bytes.size() >= kLength && std::equal(start.begin(), start.end(), bytes.begin());
}

// RIFF is a container for audio and video, too; the type follows the length.
bool starts_like_webp(std::span<const uint8_t> bytes) {
  return starts_with(bytes, kRiffStart) && bytes.size() >= 8 && starts_with(bytes.subspan(8), kWebpName);
}

}  // namespace

void check_picture_size(int64_t height, int64_t width, const DecodeLimits& limits) {
  if (height <= 0 || width <= 0) throw PictureError("no pixels");
  if (height > limits.max_pixels / width)
    throw PictureError(fmt::format("{} x {} pixels, more than the limit of {}", width, height, limits.max_pixels));
}

Picture decode_picture(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  if (bytes.empty()) throw PictureError("empty file");
  if (starts_with(bytes, kJpegStart)) return decode_jpeg(bytes, limits, std::move(memory));
  if (starts_with(bytes, kPngStart)) return decode_png(bytes, limits, std::move(memory));
  if (starts_like_webp(bytes)) return decode_webp(bytes, limits, std::move(memory));
  throw PictureError("not a JPEG, PNG or WebP file");
}

bool looks_like_picture(std::span<const uint8_t> bytes) {
  return starts_with(bytes, kJpegStart) || starts_with(bytes, kPngStart) || starts_like_webp(bytes);
}

bool looks_like_picture_name(const std::string& path) {
  static constexpr std::array<std::string_view, 4> kEndings = {".jpg", ".jpeg", ".png", ".webp"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&path](std::string_view ending) {
    return path.size() > ending.size() && std::equal(ending.rbegin(), ending.rend(), path.rbegin(), [](char a, char b) {
             return a == std::tolower(static_cast<unsigned char>(b));
           });
  });
}

}  // namespace tributary

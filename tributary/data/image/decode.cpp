#include "tributary/data/image/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "tributary/base/text.h"
#include "tributary/data/image/decode_bmp.h"
#include "tributary/data/image/decode_gif.h"
#include "tributary/data/image/decode_jpeg.h"
#include "tributary/data/image/decode_png.h"
#include "tributary/data/image/decode_tiff.h"
#include "tributary/data/image/decode_webp.h"

namespace tributary {
namespace {

constexpr std::array<uint8_t, 3> kJpegStart = {0xff, 0xd8, 0xff};
constexpr std::array<uint8_t, 8> kPngStart = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<uint8_t, 4> kRiffStart = {'R', 'I', 'F', 'F'};
constexpr std::array<uint8_t, 4> kWebpName = {'W', 'E', 'B', 'P'};
constexpr std::array<uint8_t, 2> kBmpStart = {'B', 'M'};
constexpr std::array<uint8_t, 4> kGifStart = {'G', 'I', 'F', '8'};
constexpr std::array<std::array<uint8_t, 4>, 4> kTiffStarts = {
    {{'I', 'I', 42, 0}, {'M', 'M', 0, 42}, {'I', 'I', 43, 0}, {'M', 'M', 0, 43}}};  // the last two: of 64 bits
constexpr std::array<uint8_t, 4> kBoxName = {'f', 't', 'y', 'p'};

template <size_t kLength>
bool starts_with(std::span<const uint8_t> bytes, const std::array<uint8_t, kLength>& start) {
  return bytes.size() >= kLength && std::equal(start.begin(), start.end(), bytes.begin());
}

// RIFF is a container for audio and video, too; the type follows the length.
bool starts_like_webp(std::span<const uint8_t> bytes) {
  return starts_with(bytes, kRiffStart) && bytes.size() >= 8 && starts_with(bytes.subspan(8), kWebpName);
}

bool starts_like_tiff(std::span<const uint8_t> bytes) {
  return std::any_of(kTiffStarts.begin(), kTiffStarts.end(),
                     [&](const auto& start) { return starts_with(bytes, start); });
}

// Why a file of no known format cannot be decoded. Phones write HEIC, also under other names.
std::string unknown_format(std::span<const uint8_t> bytes) {
  if (bytes.size() >= 12 && starts_with(bytes.subspan(4), kBoxName))
    return fmt::format("HEIC, AVIF or video ({}), which cannot be read; convert it to JPEG or PNG",
                       printable({reinterpret_cast<const char*>(bytes.data()) + 8, 4}));
  return fmt::format("not a {} file", kPictureFormats);
}

}  // namespace

void check_picture_size(int64_t height, int64_t width, const DecodeLimits& limits) {
  if (height <= 0 || width <= 0) throw PictureError("no pixels");
  if (height > limits.max_pixels / width)
    throw PictureError(fmt::format("{} x {} pixels, more than the limit of {:g} megapixels (--max-megapixels)", width,
                                   height, static_cast<double>(limits.max_pixels) / 1e6));
}

void check_picture_bytes(int64_t height, int64_t width, size_t bytes, const char* format) {
  constexpr int64_t kMostPerByte = 4096, kSmall = 1'000'000;
  const int64_t pixels = height * width;
  if (pixels > kSmall && pixels / kMostPerByte > static_cast<int64_t>(bytes))
    throw PictureError(fmt::format("truncated {}: {} bytes for {} x {} pixels", format, bytes, width, height));
}

Picture decode_picture(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  if (bytes.empty()) throw PictureError("empty file");
  if (starts_with(bytes, kJpegStart)) return decode_jpeg(bytes, limits, std::move(memory));
  if (starts_with(bytes, kPngStart)) return decode_png(bytes, limits, std::move(memory));
  if (starts_like_webp(bytes)) return decode_webp(bytes, limits, std::move(memory));
  if (starts_like_tiff(bytes)) return decode_tiff(bytes, limits, std::move(memory));
  if (starts_with(bytes, kGifStart)) return decode_gif(bytes, limits, std::move(memory));
  if (starts_with(bytes, kBmpStart)) return decode_bmp(bytes, limits, std::move(memory));
  throw PictureError(unknown_format(bytes));
}

bool looks_like_picture(std::span<const uint8_t> bytes) {
  // A text may start with "BM", but has no zeros in the fifth to eighth byte after it.
  const bool bmp = starts_with(bytes, kBmpStart) && bytes.size() >= 10 &&
                   std::all_of(bytes.begin() + 6, bytes.begin() + 10, [](uint8_t byte) { return byte == 0; });
  return starts_with(bytes, kJpegStart) || starts_with(bytes, kPngStart) || starts_like_webp(bytes) ||
         starts_like_tiff(bytes) || starts_with(bytes, kGifStart) || bmp;
}

bool looks_like_picture_name(const std::string& path) {
  static constexpr std::array<std::string_view, 9> kEndings = {".jpg", ".jpeg", ".jfif", ".png", ".webp",
                                                               ".tif", ".tiff", ".bmp",  ".gif"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&path](std::string_view ending) {
    return path.size() > ending.size() && std::equal(ending.rbegin(), ending.rend(), path.rbegin(), [](char a, char b) {
             return a == std::tolower(static_cast<unsigned char>(b));
           });
  });
}

}  // namespace tributary

#include "tributary/data/image/decode_ppm.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace tributary {
namespace {

constexpr std::string_view kStart = "P6\n", kDepth = "255\n";
constexpr size_t kMaxDigits = 9;

// Removes a number and the character `end` from the start of `text`; -1 if there is none.
int64_t take_number(std::string_view& text, char end) {
  int64_t value = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    if (digits == kMaxDigits) return -1;
    value = 10 * value + (text[digits] - '0');
  }
  if (digits == 0 || digits == text.size() || text[digits] != end) return -1;
  text.remove_prefix(digits + 1);
  return value;
}

}  // namespace

Picture decode_ppm(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kStart)) throw PictureError("not a binary PPM file (P6)");
  text.remove_prefix(kStart.size());
  const int64_t width = take_number(text, ' '), height = take_number(text, '\n');
  if (width < 0 || height < 0 || !text.starts_with(kDepth))
    throw PictureError("a PPM file whose header is not P6, width, height and 255");
  text.remove_prefix(kDepth.size());
  check_picture_size(height, width, limits);
  if (static_cast<int64_t>(text.size()) != 3 * width * height)
    throw PictureError(fmt::format("a PPM file of {} x {} pixels with {} bytes", width, height, text.size()));
  Picture picture{static_cast<int>(height), static_cast<int>(width), std::move(memory)};
  picture.rgb.assign(bytes.end() - static_cast<std::ptrdiff_t>(text.size()), bytes.end());
  return picture;
}

std::vector<uint8_t> encode_ppm(const Picture& picture) {
  const std::string header = fmt::format("{}{} {}\n{}", kStart, picture.width, picture.height, kDepth);
  std::vector<uint8_t> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), picture.rgb.begin(), picture.rgb.end());
  return bytes;
}

}  // namespace tributary

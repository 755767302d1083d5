#include "tributary/data/image/decode_bmp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace tributary {
namespace {

constexpr size_t kFileHeader = 14;
constexpr size_t kOs2Header = 12;  // all others have at least 40 bytes
constexpr size_t kMinHeader = 40;
constexpr size_t kMaxHeader = 124;
constexpr uint32_t kUncompressed = 0, kRunLength8 = 1, kRunLength4 = 2, kBitFields = 3, kAlphaBitFields = 6;

uint32_t bmp_number(std::span<const uint8_t> bytes, size_t at, size_t length) {
  if (at > bytes.size() || bytes.size() - at < length) throw PictureError("truncated BMP");
  uint32_t value = 0;
  for (size_t i = length; i-- > 0;) value = value << 8 | bytes[at + i];
  return value;
}

using Colour = std::array<uint8_t, 3>;

// One channel of a pixel with bit masks, scaled to 8 bits with Pillow's rounding.
struct Channel {
  explicit Channel(uint32_t mask) : mask_(mask), shift_(std::countr_zero(mask | 1u << 31)), largest_(mask >> shift_) {}
  uint8_t of(uint32_t pixel) const {
    if (largest_ == 0) return 0;
    return static_cast<uint8_t>(uint64_t{(pixel & mask_) >> shift_} * 255 / largest_);
  }

 private:
  uint32_t mask_;
  int shift_;
  uint32_t largest_;
};

struct BmpHeader {
  int64_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0, compression = kUncompressed;
  std::array<uint32_t, 3> masks{};    // of red, green and blue
  std::array<Colour, 256> palette{};  // black where the file has no colour
  size_t pixels_at = 0;
};

bool is_run_length(const BmpHeader& header) {
  return (header.compression == kRunLength8 && header.bits == 8) ||
         (header.compression == kRunLength4 && header.bits == 4);
}

void read_bmp_palette(std::span<const uint8_t> bytes, size_t at, size_t entry_bytes, size_t count, BmpHeader& header) {
  for (size_t i = 0; i < std::min(count, header.palette.size()); ++i) {
    const uint32_t entry = bmp_number(bytes, at + i * entry_bytes, 3);  // blue, green, red
    header.palette[i] = {static_cast<uint8_t>(entry >> 16), static_cast<uint8_t>(entry >> 8),
                         static_cast<uint8_t>(entry)};
  }
}

BmpHeader read_bmp_header(std::span<const uint8_t> bytes) {
  BmpHeader header;
  const size_t size = bmp_number(bytes, kFileHeader, 4);
  const bool os2 = size == kOs2Header;
  if (!os2 && (size < kMinHeader || size > kMaxHeader))
    throw PictureError(fmt::format("BMP with a header of {} bytes, which is not supported", size));
  size_t colours = 0;
  if (os2) {
    header.width = bmp_number(bytes, 18, 2);
    header.height = bmp_number(bytes, 20, 2);
    header.bits = bmp_number(bytes, 24, 2);
  } else {
    header.width = static_cast<int32_t>(bmp_number(bytes, 18, 4));
    const int64_t height = static_cast<int32_t>(bmp_number(bytes, 22, 4));
    header.top_down = height < 0;
    header.height = height < 0 ? -height : height;
    header.bits = bmp_number(bytes, 28, 2);
    header.compression = bmp_number(bytes, 30, 4);
    colours = bmp_number(bytes, 46, 4);
  }
  size_t after = kFileHeader + size;
  if (header.compression == kBitFields || header.compression == kAlphaBitFields) {
    for (size_t c = 0; c < 3; ++c) header.masks[c] = bmp_number(bytes, kFileHeader + kMinHeader + 4 * c, 4);
    if (size == kMinHeader) after += header.compression == kBitFields ? 12 : 16;
  }
  if (std::count(header.masks.begin(), header.masks.end(), 0u) == 3)
    header.masks = header.bits == 16 ? std::array{0x7c00u, 0x3e0u, 0x1fu} : std::array{0xff0000u, 0xff00u, 0xffu};
  header.pixels_at = bmp_number(bytes, 10, 4);
  if (header.bits <= 8) {
    if (colours == 0) colours = size_t{1} << header.bits;
    const size_t entry_bytes = os2 ? 3 : 4;
    read_bmp_palette(bytes, after, entry_bytes, colours, header);
    // Some programs write the position of the palette.
    if (header.pixels_at == kFileHeader + size) header.pixels_at += entry_bytes * std::min(colours, size_t{65536});
  }
  return header;
}

void check_bmp(const BmpHeader& header) {
  const bool masks = header.compression == kBitFields || header.compression == kAlphaBitFields;
  const bool deep = header.bits == 16 || header.bits == 24 || header.bits == 32;
  const bool shallow = header.bits == 1 || header.bits == 4 || header.bits == 8;
  const bool known = header.compression == kUncompressed ? deep || shallow : masks ? deep : is_run_length(header);
  if (!known || (is_run_length(header) && header.top_down))
    throw PictureError(
        fmt::format("BMP of {} bits with compression {}, which is not supported", header.bits, header.compression));
}

// The bytes of an uncompressed row.
int64_t row_stride(const BmpHeader& header) {
  return (header.width * static_cast<int64_t>(header.bits) + 31) / 32 * 4;
}

// Checks that the file is long enough, before pixels are allocated.
void check_bmp_bytes(std::span<const uint8_t> bytes, const BmpHeader& header) {
  if (is_run_length(header)) return check_picture_bytes(header.height, header.width, bytes.size(), "BMP");
  // The last row may lack its padding.
  const int64_t last_row = (header.width * static_cast<int64_t>(header.bits) + 7) / 8;
  const int64_t needed = row_stride(header) * (header.height - 1) + last_row;
  if (header.pixels_at > bytes.size() || static_cast<int64_t>(bytes.size() - header.pixels_at) < needed)
    throw PictureError("truncated BMP");
}

void put_colour(Picture& picture, int64_t x, int64_t y, const Colour& colour) {
  std::copy(colour.begin(), colour.end(), picture.rgb.begin() + y * picture.row_bytes() + 3 * x);
}

void read_uncompressed(std::span<const uint8_t> bytes, const BmpHeader& header, Picture& picture) {
  const auto bits = static_cast<int64_t>(header.bits);
  const int64_t stride = row_stride(header);
  const Channel red(header.masks[0]), green(header.masks[1]), blue(header.masks[2]);
  for (int64_t line = 0; line < header.height; ++line) {
    const uint8_t* const row = bytes.data() + header.pixels_at + line * stride;
    const int64_t y = header.top_down ? line : header.height - 1 - line;
    for (int64_t x = 0; x < header.width; ++x) {
      if (bits <= 8) {
        const int64_t bit = x * bits;
        const int index = row[bit / 8] >> (8 - bits - bit % 8) & ((1 << bits) - 1);
        put_colour(picture, x, y, header.palette[static_cast<size_t>(index)]);
        continue;
      }
      uint32_t pixel = 0;
      for (int64_t i = bits / 8; i-- > 0;) pixel = pixel << 8 | row[x * (bits / 8) + i];
      put_colour(picture, x, y, {red.of(pixel), green.of(pixel), blue.of(pixel)});
    }
  }
}

// Reads runs, from the bottom row. Pixels that the file leaves out have the first colour.
void read_run_length(std::span<const uint8_t> bytes, const BmpHeader& header, Picture& picture) {
  for (int64_t y = 0; y < header.height; ++y)
    for (int64_t x = 0; x < header.width; ++x) put_colour(picture, x, y, header.palette[0]);
  size_t at = header.pixels_at;
  const auto next = [&] { return static_cast<uint8_t>(bmp_number(bytes, at++, 1)); };
  int64_t x = 0, line = 0;
  const auto add = [&](uint8_t index) {
    if (x < header.width) put_colour(picture, x++, header.height - 1 - line, header.palette[index]);
  };
  const bool four = header.bits == 4;
  const auto part = [four](uint8_t byte, int i) -> uint8_t {
    return !four ? byte : i % 2 == 0 ? static_cast<uint8_t>(byte >> 4) : static_cast<uint8_t>(byte & 15);
  };
  while (line < header.height) {
    const uint8_t count = next(), value = next();
    if (count > 0) {
      for (int i = 0; i < count; ++i) add(part(value, i));
    } else if (value == 0) {  // end of the line
      x = 0;
      ++line;
    } else if (value == 1) {  // end of the picture
      return;
    } else if (value == 2) {  // move right and up
      x += next();
      line += next();
    } else {  // pixels one by one, padded to an even number of bytes
      const size_t begin = at;
      for (int i = 0; i < value; ++i)
        add(part(static_cast<uint8_t>(bmp_number(bytes, begin + static_cast<size_t>(four ? i / 2 : i), 1)), i));
      const size_t length = four ? (size_t{value} + 1) / 2 : value;
      at = begin + length + length % 2;
    }
    if (x >= header.width && line == header.height - 1) return;  // some files lack the end
  }
}

}  // namespace

Picture decode_bmp(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  const BmpHeader header = read_bmp_header(bytes);
  check_bmp(header);
  check_picture_size(header.height, header.width, limits);
  check_bmp_bytes(bytes, header);
  Picture picture{static_cast<int>(header.height), static_cast<int>(header.width), std::move(memory)};
  picture.rgb.resize(static_cast<size_t>(picture.row_bytes() * picture.height));
  if (is_run_length(header))
    read_run_length(bytes, header, picture);
  else
    read_uncompressed(bytes, header, picture);
  return picture;
}

}  // namespace tributary

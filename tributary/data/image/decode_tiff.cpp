#include "tributary/data/image/decode_tiff.h"

#ifdef TRIBUTARY_TIFF
#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "tributary/base/text.h"
#include "tributary/data/image/exif.h"
#endif

namespace tributary {

#ifdef TRIBUTARY_TIFF
namespace {

constexpr int kMaxSamples = 8;  // per pixel

// A file in memory, and the first error of libtiff.
struct TiffSource {
  std::span<const uint8_t> bytes;
  uint64_t position = 0;
  bool truncated = false;
  char reason[160] = {};

  PictureError error() const {
    if (truncated) return PictureError("truncated TIFF");
    return PictureError(fmt::format("corrupt TIFF: {}", reason[0] != 0 ? printable(reason) : "invalid data"));
  }
};

tmsize_t tiff_read(thandle_t handle, void* to, tmsize_t count) {
  auto* source = static_cast<TiffSource*>(handle);
  const uint64_t left = source->position < source->bytes.size() ? source->bytes.size() - source->position : 0;
  const auto available = static_cast<size_t>(std::min(left, static_cast<uint64_t>(std::max<tmsize_t>(count, 0))));
  if (available > 0) std::memcpy(to, source->bytes.data() + source->position, available);
  source->position += available;
  source->truncated |= available < static_cast<size_t>(count);
  return static_cast<tmsize_t>(available);
}

toff_t tiff_seek(thandle_t handle, toff_t offset, int whence) {
  auto* source = static_cast<TiffSource*>(handle);
  if (whence == SEEK_CUR) offset += source->position;
  if (whence == SEEK_END) offset += source->bytes.size();
  return source->position = offset;
}

int tiff_error(TIFF*, void* user, const char*, const char* format, va_list values) {
  auto* source = static_cast<TiffSource*>(user);
  if (source->reason[0] == 0) std::vsnprintf(source->reason, sizeof source->reason, format, values);
  return 1;  // handled: nothing is printed
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

std::unique_ptr<TIFF, CloseTiff> open_tiff(TiffSource& source, const DecodeLimits& limits) {
  constexpr int64_t kLeast = int64_t{16} << 20;
  const std::unique_ptr<TIFFOpenOptions, CloseTiff> options(TIFFOpenOptionsAlloc());
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), tiff_error, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(
      options.get(), [](TIFF*, void*, const char*, const char*, va_list) { return 1; }, &source);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), std::max(kLeast, int64_t{2} * kMaxSamples * limits.max_pixels));
  const auto write = [](thandle_t, void*, tmsize_t) { return tmsize_t{-1}; };
  const auto close = [](thandle_t) { return 0; };
  const auto size = [](thandle_t handle) { return toff_t{static_cast<TiffSource*>(handle)->bytes.size()}; };
  std::unique_ptr<TIFF, CloseTiff> tiff(TIFFClientOpenExt("picture", "rm", &source, tiff_read, write, tiff_seek, close,
                                                          size, nullptr, nullptr, options.get()));
  if (!tiff) throw source.error();
  return tiff;
}

template <typename Value>
Value tiff_field(TIFF* tiff, uint32_t tag, Value otherwise) {
  Value value{};
  return TIFFGetFieldDefaulted(tiff, tag, &value) == 1 ? value : otherwise;
}

bool is_known_compression(uint16_t compression) {
  static constexpr std::array<uint16_t, 9> kKnown = {
      COMPRESSION_NONE, COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3,     COMPRESSION_CCITTFAX4, COMPRESSION_LZW,
      COMPRESSION_JPEG, COMPRESSION_PACKBITS, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE};
  return std::find(kKnown.begin(), kKnown.end(), compression) != kKnown.end();
}

struct TiffLayout {
  uint32_t width = 0, height = 0;
  uint16_t bits = 0, samples = 0, photometric = 0;
  bool planes = false;  // one after the other, instead of pixels
  int used = 0;         // samples that make up the colour
  bool tiled = false;
  uint32_t block_width = 0, block_height = 0;  // of a strip or tile
};

TiffLayout tiff_layout(TIFF* tiff, const DecodeLimits& limits) {
  TiffLayout layout;
  layout.width = tiff_field<uint32_t>(tiff, TIFFTAG_IMAGEWIDTH, 0);
  layout.height = tiff_field<uint32_t>(tiff, TIFFTAG_IMAGELENGTH, 0);
  check_picture_size(layout.height, layout.width, limits);
  layout.bits = tiff_field<uint16_t>(tiff, TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = tiff_field<uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.planes = tiff_field<uint16_t>(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE;
  layout.photometric = tiff_field<uint16_t>(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
  const auto compression = tiff_field<uint16_t>(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  if (!is_known_compression(compression))
    throw PictureError(fmt::format("TIFF with compression {}, which is not supported", compression));
  const auto format = tiff_field<uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const bool jpeg = compression == COMPRESSION_JPEG;
  switch (layout.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE:
      layout.used = 1;
      break;
    case PHOTOMETRIC_YCBCR:
    case PHOTOMETRIC_RGB:
      layout.used = 3;
      break;
    case PHOTOMETRIC_SEPARATED:
      layout.used = 4;
      break;
    default:
      break;
  }
  const bool ycbcr = layout.photometric == PHOTOMETRIC_YCBCR;
  const bool shallow = layout.bits == 1 || layout.bits == 2 || layout.bits == 4;
  const bool known = layout.used > 0 && layout.samples >= layout.used && layout.samples <= kMaxSamples &&
                     format == SAMPLEFORMAT_UINT && (!ycbcr || (jpeg && !layout.planes)) &&
                     (layout.bits == 8 || layout.bits == 16 || (shallow && layout.used == 1)) &&
                     (layout.photometric != PHOTOMETRIC_PALETTE || layout.bits <= 8) && (!jpeg || layout.bits == 8);
  if (!known)
    throw PictureError(fmt::format("TIFF of {} samples of {} bits, photometric {}, which is not supported",
                                   layout.samples, layout.bits, layout.photometric));
  if (jpeg && ycbcr) TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  layout.tiled = TIFFIsTiled(tiff) != 0;
  if (layout.tiled) {
    layout.block_width = tiff_field<uint32_t>(tiff, TIFFTAG_TILEWIDTH, 0);
    layout.block_height = tiff_field<uint32_t>(tiff, TIFFTAG_TILELENGTH, 0);
    check_picture_size(layout.block_height, layout.block_width, limits);
  } else {
    layout.block_width = layout.width;
    layout.block_height =
        std::clamp(tiff_field<uint32_t>(tiff, TIFFTAG_ROWSPERSTRIP, layout.height), 1u, layout.height);
  }
  return layout;
}

// Converts one row of samples to 8 bits. `step` is the distance of a pixel's samples in `from`, counted in samples.
void samples_to_8_bits(const uint8_t* from, const TiffLayout& layout, int64_t first, int64_t step, int64_t count,
                       bool scaled, uint8_t* to, int64_t to_step) {
  for (int64_t x = 0; x < count; ++x) {
    const int64_t at = first + x * step;
    int value = 0;
    if (layout.bits == 8) {
      value = from[at];
    } else if (layout.bits == 16) {
      uint16_t wide = 0;  // in the byte order of the machine
      std::memcpy(&wide, from + 2 * at, sizeof wide);
      value = wide >> 8;
    } else {
      const int64_t bit = at * layout.bits;
      const int largest = (1 << layout.bits) - 1;
      value = from[bit / 8] >> (8 - layout.bits - bit % 8) & largest;
      if (scaled) value = value * 255 / largest;
    }
    to[x * to_step] = static_cast<uint8_t>(value);
  }
}

class TiffReader {
 public:
  TiffReader(std::span<const uint8_t> bytes, const DecodeLimits& limits)
      : source_{bytes}, tiff_(open_tiff(source_, limits)), layout_(tiff_layout(tiff_.get(), limits)) {
    if (layout_.photometric == PHOTOMETRIC_PALETTE) read_palette();
  }

  // Blank pages of 1 bit per pixel can be far smaller.
  bool deep() const { return layout_.bits >= 8; }
  int height() const { return static_cast<int>(layout_.height); }
  int width() const { return static_cast<int>(layout_.width); }
  int orientation() const { return tiff_field<uint16_t>(tiff_.get(), TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT); }

  void read_pixels(Picture& picture) {
    const tmsize_t bytes = layout_.tiled ? TIFFTileSize(tiff_.get()) : TIFFStripSize(tiff_.get());
    const tmsize_t row_bytes = layout_.tiled ? TIFFTileRowSize(tiff_.get()) : TIFFScanlineSize(tiff_.get());
    const int64_t row_samples = int64_t{layout_.block_width} * (layout_.planes ? 1 : layout_.samples);
    if (bytes <= 0 || row_bytes < (row_samples * layout_.bits + 7) / 8 || row_bytes > bytes / layout_.block_height)
      throw source_.error();
    encoded_.resize(static_cast<size_t>(bytes));
    decoded_.resize(size_t{layout_.block_width} * layout_.block_height * static_cast<size_t>(layout_.used));
    for (uint32_t y = 0; y < layout_.height; y += layout_.block_height) {
      for (uint32_t x = 0; x < layout_.width; x += layout_.block_width) {
        for (int plane = 0; plane < (layout_.planes ? layout_.used : 1); ++plane) read_block(x, y, plane, row_bytes);
        copy_block(x, y, picture);
      }
    }
  }

 private:
  int64_t rows_at(uint32_t y) const { return std::min(layout_.block_height, layout_.height - y); }

  // Reads the strip or tile at (x, y) to `decoded_`, all samples or one plane of them.
  void read_block(uint32_t x, uint32_t y, int plane, tmsize_t row_bytes) {
    const auto sample = static_cast<uint16_t>(plane);
    const tmsize_t needed = layout_.tiled ? static_cast<tmsize_t>(encoded_.size()) : row_bytes * rows_at(y);
    const tmsize_t got =
        layout_.tiled
            ? TIFFReadEncodedTile(tiff_.get(), TIFFComputeTile(tiff_.get(), x, y, 0, sample), encoded_.data(), needed)
            : TIFFReadEncodedStrip(tiff_.get(), TIFFComputeStrip(tiff_.get(), y, sample), encoded_.data(), needed);
    if (got < needed) throw source_.error();
    const bool scaled = layout_.photometric != PHOTOMETRIC_PALETTE;
    for (int64_t row = 0; row < rows_at(y); ++row) {
      const uint8_t* const from = encoded_.data() + row * row_bytes;
      uint8_t* const to = decoded_.data() + row * layout_.block_width * layout_.used;
      if (layout_.planes) {
        samples_to_8_bits(from, layout_, 0, 1, layout_.block_width, scaled, to + plane, layout_.used);
        continue;
      }
      for (int c = 0; c < layout_.used; ++c)
        samples_to_8_bits(from, layout_, c, layout_.samples, layout_.block_width, scaled, to + c, layout_.used);
    }
  }

  void copy_block(uint32_t x, uint32_t y, Picture& picture) const {
    const int64_t columns = std::min(layout_.block_width, layout_.width - x);
    for (int64_t row = 0; row < rows_at(y); ++row) {
      const uint8_t* from = decoded_.data() + row * layout_.block_width * layout_.used;
      uint8_t* to = picture.rgb.data() + (int64_t{y} + row) * picture.row_bytes() + int64_t{3} * x;
      for (int64_t i = 0; i < columns; ++i, from += layout_.used, to += 3) colour_of(from, to);
    }
  }

  void colour_of(const uint8_t* samples, uint8_t* rgb) const {
    switch (layout_.photometric) {
      case PHOTOMETRIC_MINISWHITE:
        std::fill_n(rgb, 3, static_cast<uint8_t>(255 - samples[0]));
        return;
      case PHOTOMETRIC_MINISBLACK:
        std::fill_n(rgb, 3, samples[0]);
        return;
      case PHOTOMETRIC_PALETTE:
        std::copy_n(palette_[samples[0]].begin(), 3, rgb);
        return;
      case PHOTOMETRIC_SEPARATED:
        // (1 - ink) * (1 - black), with Pillow's rounding.
        for (int c = 0; c < 3; ++c) {
          const int white = 255 - samples[3], product = samples[c] * white + 128;
          rgb[c] = static_cast<uint8_t>(white - ((product + (product >> 8)) >> 8));
        }
        return;
      default:
        std::copy_n(samples, 3, rgb);
    }
  }

  void read_palette() {
    std::array<const uint16_t*, 3> channels{};
    if (TIFFGetField(tiff_.get(), TIFFTAG_COLORMAP, &channels[0], &channels[1], &channels[2]) != 1)
      throw PictureError("TIFF without its palette");
    for (size_t i = 0; i < size_t{1} << layout_.bits; ++i)
      for (size_t c = 0; c < 3; ++c) palette_[i][c] = static_cast<uint8_t>(channels[c][i] >> 8);
  }

  TiffSource source_;
  std::unique_ptr<TIFF, CloseTiff> tiff_;
  TiffLayout layout_;
  std::array<std::array<uint8_t, 3>, 256> palette_{};
  std::vector<uint8_t> encoded_, decoded_;  // one strip or tile: as in the file, and its samples in 8 bits
};

}  // namespace

Picture decode_tiff(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  TiffReader reader(bytes, limits);
  if (reader.deep()) check_picture_bytes(reader.height(), reader.width(), bytes.size(), "TIFF");
  Picture picture{reader.height(), reader.width(), std::move(memory)};
  picture.rgb.resize(static_cast<size_t>(picture.row_bytes() * picture.height));
  reader.read_pixels(picture);
  return apply_orientation(std::move(picture), reader.orientation());
}

#else

Picture decode_tiff(std::span<const uint8_t>, const DecodeLimits&, std::vector<uint8_t>) {
  throw PictureError("TIFF pictures need a build with libtiff 4.5 or later");
}

#endif

}  // namespace tributary

#include "tributary/data/image/decode_png.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "tributary/data/image/exif.h"

namespace tributary {
namespace {

// Deflate expands its input by at most a factor of 1032, so N bytes of pixels need a file of more than N / 1040 bytes.
constexpr int64_t kMaxExpansion = 1040;

// Whether all chunks up to IEND are complete.
bool has_whole_chunks(std::span<const uint8_t> bytes) {
  constexpr size_t kSignature = 8, kChunkOverhead = 12;  // length, type and checksum
  if (bytes.size() < kSignature) return false;
  for (std::span<const uint8_t> rest = bytes.subspan(kSignature); rest.size() >= kChunkOverhead;) {
    const size_t length = png_get_uint_32(rest.data());
    if (length > rest.size() - kChunkOverhead) return false;
    if (std::memcmp(rest.data() + 4, "IEND", 4) == 0) return true;
    rest = rest.subspan(kChunkOverhead + length);
  }
  return false;
}

// Reads one PNG. Each step returns false after an error. Functions with setjmp have no locals with destructors.
class PngReader {
 public:
  explicit PngReader(std::span<const uint8_t> bytes) : bytes_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ == nullptr) throw std::bad_alloc();
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, on_read);
    // Reads header, palette, pixels and EXIF only; text and colour profiles are not decompressed. Skips EXIF in
    // truncated files, because libpng allocates its declared length before it reaches the end of the file.
    static constexpr png_byte kExif[] = "eXIf";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    if (has_whole_chunks(bytes_)) png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_AS_DEFAULT, kExif, 1);
    png_read_info(png_, info_);
    return true;
  }

  // Decodes all pixels to 8-bit `rgb`: depths below 8 are scaled up, 16-bit values keep the high byte, grey is repeated
  // and alpha dropped, like Pillow's convert("RGB").
  bool read_pixels(uint8_t* rgb) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    expand_to_8_bits();
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != size_t{3} * static_cast<size_t>(width())) png_error(png_, "unexpected layout");
    read_rows(rgb, passes);
    png_read_end(png_, info_);
    return true;
  }

  // Call after read_pixels: EXIF may follow the pixels.
  int orientation() const {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    return png_get_eXIf_1(png_, info_, &size, &exif) == 0 ? 1 : exif_orientation({exif, size});
  }

  int64_t height() const { return png_get_image_height(png_, info_); }
  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t packed_bytes() const { return height() * static_cast<int64_t>(png_get_rowbytes(png_, info_)); }
  PictureError error() const { return PictureError(reason_); }

 private:
  void expand_to_8_bits() {
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) {
      png_set_palette_to_rgb(png_);
    } else if (png_get_bit_depth(png_, info_) < 8) {
      png_set_expand_gray_1_2_4_to_8(png_);
    }
  }

  void read_rows(uint8_t* rgb, int passes) {
    const auto row_bytes = static_cast<size_t>(3 * width());
    const auto rows = static_cast<size_t>(height());
    for (int pass = 0; pass < passes; ++pass) {
      for (size_t y = 0; y < rows; ++y) png_read_row(png_, rgb + y * row_bytes, nullptr);
    }
  }

  static void on_read(png_structp png, png_bytep out, size_t count) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (reader->bytes_.size() - reader->position_ < count) {
      reader->truncated_ = true;
      png_error(png, "end of file");
    }
    std::memcpy(out, reader->bytes_.data() + reader->position_, count);
    reader->position_ += count;
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    if (reader->truncated_) {
      std::snprintf(reader->reason_, sizeof reader->reason_, "truncated PNG");
    } else {
      std::snprintf(reader->reason_, sizeof reader->reason_, "corrupt PNG: %s", message);
    }
    png_longjmp(png, 1);
  }

  static void on_warning(png_structp, png_const_charp) {}

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  bool truncated_ = false;
  char reason_[128] = {};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Picture decode_png(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  PngReader reader(bytes);
  if (!reader.read_header()) throw reader.error();
  check_picture_size(reader.height(), reader.width(), limits);
  if (reader.packed_bytes() / kMaxExpansion > static_cast<int64_t>(bytes.size())) throw PictureError("truncated PNG");

  Picture picture{static_cast<int>(reader.height()), static_cast<int>(reader.width()), std::move(memory)};
  picture.rgb.resize(static_cast<size_t>(picture.row_bytes() * picture.height));
  if (!reader.read_pixels(picture.rgb.data())) throw reader.error();
  return apply_orientation(std::move(picture), reader.orientation());
}

}  // namespace tributary

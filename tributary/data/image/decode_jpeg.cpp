#include "tributary/data/image/decode_jpeg.h"

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

// jpeglib.h needs FILE declared before it, jerror.h needs jpeglib.h.
#include <jpeglib.h>

#include <jerror.h>

#include "tributary/data/image/exif.h"

namespace tributary {
namespace {

// Limits decoding time: a progressive file of a few kilobytes can have enough scans for minutes of work. Real files
// have about 10. Every scan visits all pixels, so large pictures may have fewer: a picture of the largest size 32.
constexpr int64_t kMaxScans = 500;
constexpr int64_t kMaxScansOfLargest = 32;

// Limits memory: libjpeg keeps the coefficients of all scans, 2 bytes per pixel and component. 4 bytes for every pixel
// of the largest picture suffice for one with subsampled colours.
constexpr int64_t kCoefficientBytes = 4;

constexpr int64_t kLargestJpeg = int64_t{65535} * 65535;

// libjpeg's error callback must not return: it stores the reason and calls longjmp.
struct JpegErrors {
  jpeg_error_mgr manager;  // first member: libjpeg passes a pointer to it
  std::jmp_buf jump;
  char reason[JMSG_LENGTH_MAX + 32];
};

[[noreturn]] void fail(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  switch (errors->manager.msg_code) {
    case JWRN_JPEG_EOF:
    case JERR_INPUT_EMPTY:
    case JERR_INPUT_EOF:
      std::snprintf(errors->reason, sizeof errors->reason, "truncated JPEG");
      break;
    default: {
      char message[JMSG_LENGTH_MAX];
      errors->manager.format_message(info, message);
      std::snprintf(errors->reason, sizeof errors->reason, "corrupt JPEG: %s", message);
    }
  }
  std::longjmp(errors->jump, 1);
}

// Warnings about lost pixels are errors; those about harmless markers are ignored.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
      fail(info);
    default:
      return;
  }
}

void on_progress(j_common_ptr info) {
  const auto* picture = reinterpret_cast<j_decompress_ptr>(info);
  const int64_t max_pixels = *static_cast<const int64_t*>(info->client_data);
  const int64_t pixels = int64_t{picture->image_width} * picture->image_height;
  const auto most =
      static_cast<int>(std::min(kMaxScans, kMaxScansOfLargest * max_pixels / std::max(int64_t{1}, pixels)));
  if (picture->input_scan_number <= most) return;
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  std::snprintf(errors->reason, sizeof errors->reason, "corrupt JPEG: more than %d scans", most);
  std::longjmp(errors->jump, 1);
}

// Converts inverted CMYK (as in Adobe's files) to RGB as Pillow: each channel is (1 - ink) * (1 - black), with Pillow's
// rounding.
void inverted_cmyk_to_rgb(const uint8_t* cmyk, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int white = cmyk[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - cmyk[c]) * white + 128;
      rgb[c] = static_cast<uint8_t>(white - ((product + (product >> 8)) >> 8));
    }
  }
}

// Reads one JPEG. Each step returns false after an error. Functions with setjmp have no locals with destructors.
class JpegReader {
 public:
  explicit JpegReader(const DecodeLimits& limits) : max_pixels_(std::min(limits.max_pixels, kLargestJpeg)) {}
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info_); }

  bool read_header(std::span<const uint8_t> bytes) {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = fail;
    errors_.manager.emit_message = on_message;
    progress_.progress_monitor = on_progress;
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    info_.client_data = &max_pixels_;
    jpeg_mem_src(&info_, bytes.data(), static_cast<unsigned long>(bytes.size()));
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  // Decodes all pixels to `rgb`; `cmyk` is a row buffer for CMYK files.
  bool read_pixels(uint8_t* rgb, uint8_t* cmyk) {
    if (setjmp(errors_.jump) != 0) return false;
    info_.out_color_space = is_cmyk() ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      uint8_t* row = rgb + size_t{3} * info_.output_width * info_.output_scanline;
      JSAMPROW target = is_cmyk() ? cmyk : row;
      jpeg_read_scanlines(&info_, &target, 1);
      if (is_cmyk()) inverted_cmyk_to_rgb(cmyk, width(), row);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  int orientation() const {
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      if (marker->data_length >= 6 && std::memcmp(marker->data, "Exif\0", 6) == 0)
        return exif_orientation({marker->data, marker->data_length});
    }
    return 1;
  }

  // Throws a PictureError if the coefficients of all scans need too much memory, or if the file is too short for its
  // pixels.
  void check_blocks(int64_t file_bytes) {
    int64_t blocks = 0;
    for (int c = 0; c < info_.num_components; ++c)
      blocks += int64_t{info_.comp_info[c].width_in_blocks} * info_.comp_info[c].height_in_blocks;
    // A Huffman code has at least one bit. Arithmetic codes can be shorter.
    constexpr int64_t kBlocksPerByte = 8;
    if (info_.arith_code == FALSE && blocks / kBlocksPerByte > file_bytes)
      throw PictureError(fmt::format("truncated JPEG: {} bytes for {} x {} pixels", file_bytes, width(), height()));
    constexpr int64_t kAlways = 1'000'000, kMegabyte = 1'000'000;
    const int64_t needed = blocks * static_cast<int64_t>(sizeof(JBLOCK));
    const int64_t limit = std::max(kAlways, kCoefficientBytes * max_pixels_);
    if (needed > limit && jpeg_has_multiple_scans(&info_) != FALSE)
      throw PictureError(
          fmt::format("progressive JPEG of {} x {} pixels needs {} MB, more than the limit of {} MB (--max-megapixels)",
                      width(), height(), needed / kMegabyte, limit / kMegabyte));
  }

  int height() const { return static_cast<int>(info_.image_height); }
  int width() const { return static_cast<int>(info_.image_width); }
  int components() const { return info_.num_components; }
  bool is_cmyk() const { return info_.num_components == 4; }
  PictureError error() const { return PictureError(errors_.reason); }

 private:
  int64_t max_pixels_;
  jpeg_decompress_struct info_ = {};
  jpeg_progress_mgr progress_ = {};
  JpegErrors errors_ = {};
};

// Decodes the pixels as they are stored, and their EXIF orientation.
std::pair<Picture, int> decode_stored(std::span<const uint8_t> bytes, const DecodeLimits& limits,
                                      std::vector<uint8_t> memory) {
  JpegReader reader(limits);
  if (!reader.read_header(bytes)) throw reader.error();
  check_picture_size(reader.height(), reader.width(), limits);
  if (reader.components() != 1 && reader.components() != 3 && reader.components() != 4)
    throw PictureError(fmt::format("JPEG of {} colour components", reader.components()));
  reader.check_blocks(static_cast<int64_t>(bytes.size()));

  Picture picture{reader.height(), reader.width(), std::move(memory)};
  picture.rgb.resize(static_cast<size_t>(picture.row_bytes() * picture.height));
  std::vector<uint8_t> cmyk(reader.is_cmyk() ? size_t{4} * static_cast<size_t>(picture.width) : 0);
  const int orientation = reader.orientation();  // libjpeg frees the markers after the last row
  if (!reader.read_pixels(picture.rgb.data(), cmyk.data())) throw reader.error();
  return {std::move(picture), orientation};
}

}  // namespace

Picture decode_jpeg(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  // Frees libjpeg's memory before turning the picture.
  auto [picture, orientation] = decode_stored(bytes, limits, std::move(memory));
  return apply_orientation(std::move(picture), orientation);
}

}  // namespace tributary

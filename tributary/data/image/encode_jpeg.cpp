#include "tributary/data/image/encode_jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

// jpeglib.h needs FILE declared before it.
#include <jpeglib.h>

#include "tributary/base/error.h"

namespace tributary {
namespace {

// libjpeg's error callback must not return: it stores the reason and calls longjmp.
struct JpegWriteErrors {
  jpeg_error_mgr manager;  // first member: libjpeg passes a pointer to it
  std::jmp_buf jump;
  char reason[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail_writing(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegWriteErrors*>(info->err);
  errors->manager.format_message(info, errors->reason);
  std::longjmp(errors->jump, 1);
}

// Writes one JPEG. Functions with setjmp have no locals with destructors.
class JpegWriter {
 public:
  JpegWriter() = default;
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;
  ~JpegWriter() {
    jpeg_destroy_compress(&info_);
    std::free(memory_);
  }

  // False after an error.
  bool write(const uint8_t* rgb, int height, int width, int quality) {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = fail_writing;
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &memory_, &size_);
    info_.image_height = static_cast<JDIMENSION>(height);
    info_.image_width = static_cast<JDIMENSION>(width);
    info_.input_components = 3;
    info_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    while (info_.next_scanline < info_.image_height) {
      auto* row = const_cast<uint8_t*>(rgb + size_t{3} * info_.image_width * info_.next_scanline);  // not modified
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  std::vector<uint8_t> bytes() const { return {memory_, memory_ + size_}; }
  const char* reason() const { return errors_.reason; }

 private:
  jpeg_compress_struct info_ = {};
  JpegWriteErrors errors_ = {};
  unsigned char* memory_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::vector<uint8_t> encode_jpeg(const Picture& picture, int quality) {
  TRIBUTARY_CHECK(static_cast<int64_t>(picture.rgb.size()) == picture.row_bytes() * picture.height, "{} bytes",
                  picture.rgb.size());
  JpegWriter writer;
  if (!writer.write(picture.rgb.data(), picture.height, picture.width, quality))
    throw PictureError(fmt::format("cannot be encoded as JPEG: {}", writer.reason()));
  return writer.bytes();
}

}  // namespace tributary

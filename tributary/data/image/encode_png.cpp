#include "tributary/data/image/encode_png.h"

#include <png.h>

#include "tributary/base/error.h"

namespace tributary {

std::vector<uint8_t> encode_png(std::span<const uint8_t> rgb, int height, int width) {
  TRIBUTARY_CHECK(rgb.size() == size_t{3} * height * width, "{} bytes for {}x{} pixels", rgb.size(), height, width);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  if (!png_image_write_to_memory(&image, nullptr, &size, 0, rgb.data(), 0, nullptr))
    work_error("cannot encode a picture as PNG: {}", image.message);
  std::vector<uint8_t> bytes(size);
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, rgb.data(), 0, nullptr))
    work_error("cannot encode a picture as PNG: {}", image.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace tributary

#include "tributary/data/digits/packed_images.h"

#include "tributary/base/error.h"
#include "tributary/base/memory.h"
#include "tributary/base/text.h"
#include "tributary/data/image/picture.h"

namespace tributary {

void require_packed_size(const std::string& path, int64_t count, int64_t height, int64_t width, int64_t channels) {
  constexpr int64_t kNameBytes = 64;  // per picture, beside its pixels
  const int64_t limit = DecodeLimits{}.max_pixels;
  if (height > limit / width)
    input_error("{} has pictures of {} x {} pixels, more than the limit of {}; name another file", path, width, height,
                thousands(limit));
  const int64_t picture_bytes = height * width * channels + kNameBytes, available = available_memory() / 2;
  if (count > available / picture_bytes)
    input_error("{} has {} pictures of {} x {} pixels, more than half of the free memory holds; pack fewer in a file",
                path, thousands(count), width, height);
}

}  // namespace tributary

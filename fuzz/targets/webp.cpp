// Any bytes to the decoder of WebP (data/image/decode_webp.h). What cannot be decoded is a PictureError, and so is
// everything where the build had no libwebp. Pictures are kept small: large ones only cost time here.
#include "fuzz/input.h"
#include "tributary/data/image/decode_webp.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_refuse<PictureError>([&] {
    const Picture picture = decode_webp({data, size}, DecodeLimits{1 << 14});
    fuzz::require(static_cast<int64_t>(picture.rgb.size()) == picture.row_bytes() * picture.height,
                  "a picture that is not as large as it says");
  });
  return 0;
}

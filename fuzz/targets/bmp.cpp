// Fuzzes the BMP decoder (data/image/decode_bmp.h).
//
// The pixel limit is low, because large pictures only cost time.
#include "fuzz/input.h"
#include "tributary/data/image/decode_bmp.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_reject<PictureError>([&] {
    const Picture picture = decode_bmp({data, size}, DecodeLimits{1 << 14});
    fuzz::require(static_cast<int64_t>(picture.rgb.size()) == picture.row_bytes() * picture.height,
                  "a picture of a wrong size");
  });
  return 0;
}

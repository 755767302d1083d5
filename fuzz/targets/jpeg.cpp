// Fuzzes the JPEG decoder (data/image/decode_jpeg.h) and the EXIF orientation (data/image/exif.h).
//
// The pixel limit is low, because large pictures only cost time.
#include "fuzz/input.h"
#include "tributary/data/image/decode_jpeg.h"
#include "tributary/data/image/exif.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_reject<PictureError>([&] {
    const Picture picture = decode_jpeg({data, size}, DecodeLimits{1 << 14});
    fuzz::require(static_cast<int64_t>(picture.rgb.size()) == picture.row_bytes() * picture.height,
                  "a picture of a wrong size");
  });
  const int orientation = exif_orientation({data, size});
  fuzz::require(orientation >= 1 && orientation <= 8, "an invalid orientation");
  return 0;
}

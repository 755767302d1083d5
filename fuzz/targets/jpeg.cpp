// Any bytes to the decoder of JPEG (data/image/decode_jpeg.h), and as a segment of EXIF to the reader of the
// orientation (data/image/exif.h). What cannot be decoded is a PictureError. Pictures are kept small: large ones only
// cost time here.
#include "fuzz/input.h"
#include "tributary/data/image/decode_jpeg.h"
#include "tributary/data/image/exif.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_refuse<PictureError>([&] {
    const Picture picture = decode_jpeg({data, size}, DecodeLimits{1 << 14});
    fuzz::require(static_cast<int64_t>(picture.rgb.size()) == picture.row_bytes() * picture.height,
                  "a picture that is not as large as it says");
  });
  const int orientation = exif_orientation({data, size});
  fuzz::require(orientation >= 1 && orientation <= 8, "an orientation that is none");
  return 0;
}

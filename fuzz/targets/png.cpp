// Any bytes to the decoder of PNG (data/image/decode_png.h), as they are and with the checksums of their chunks put
// right, without which hardly a change would get past the first chunk. What cannot be decoded is a PictureError.
// Pictures are kept small: large ones only cost time here.
#include <zlib.h>

#include "fuzz/input.h"
#include "tributary/data/image/decode.h"

using namespace tributary;

namespace {

constexpr size_t kSignature = 8;
constexpr size_t kAroundChunk = 12;  // length, type and checksum

void decode(std::span<const uint8_t> bytes) {
  fuzz::read_or_refuse<PictureError>([&] {
    const Picture picture = decode_picture(bytes, DecodeLimits{1 << 14});
    fuzz::require(static_cast<int64_t>(picture.rgb.size()) == picture.row_bytes() * picture.height,
                  "a picture that is not as large as it says");
  });
}

void correct_checksums(std::vector<uint8_t>& bytes) {
  for (size_t at = kSignature; bytes.size() > at && bytes.size() - at >= kAroundChunk;) {
    uint8_t* chunk = bytes.data() + at;
    const size_t length = size_t{chunk[0]} << 24 | size_t{chunk[1]} << 16 | size_t{chunk[2]} << 8 | chunk[3];
    if (length > bytes.size() - at - kAroundChunk) return;
    const auto checksum = crc32_z(0, chunk + 4, 4 + length);
    for (size_t i = 0; i < 4; ++i) chunk[8 + length + i] = static_cast<uint8_t>(checksum >> (24 - 8 * i));
    at += kAroundChunk + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  decode({data, size});
  std::vector<uint8_t> corrected(data, data + size);
  correct_checksums(corrected);
  decode(corrected);
  return 0;
}

// Fuzzes the PNG decoder (data/image/decode_png.h), with the original and with corrected chunk checksums.
//
// Without the correction, few mutations would get past the first chunk. The pixel limit is low, because large pictures
// only cost time.
#include <zlib.h>

#include "fuzz/input.h"
#include "tributary/data/image/decode.h"

using namespace tributary;

namespace {

constexpr size_t kSignature = 8;
constexpr size_t kChunkOverhead = 12;  // length, type and checksum

void decode(std::span<const uint8_t> bytes) {
  fuzz::read_or_reject<PictureError>([&] {
    const Picture picture = decode_picture(bytes, DecodeLimits{1 << 14});
    fuzz::require(static_cast<int64_t>(picture.rgb.size()) == picture.row_bytes() * picture.height,
                  "a picture of a wrong size");
  });
}

void correct_checksums(std::vector<uint8_t>& bytes) {
  for (size_t at = kSignature; bytes.size() > at && bytes.size() - at >= kChunkOverhead;) {
    uint8_t* chunk = bytes.data() + at;
    const size_t length = size_t{chunk[0]} << 24 | size_t{chunk[1]} << 16 | size_t{chunk[2]} << 8 | chunk[3];
    if (length > bytes.size() - at - kChunkOverhead) return;
    const auto checksum = crc32_z(0, chunk + 4, 4 + length);
    for (size_t i = 0; i < 4; ++i) chunk[8 + length + i] = static_cast<uint8_t>(checksum >> (24 - 8 * i));
    at += kChunkOverhead + length;
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

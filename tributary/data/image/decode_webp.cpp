#include "tributary/data/image/decode_webp.h"

#ifdef TRIBUTARY_WEBP
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>
#include <new>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/data/image/exif.h"
#endif

namespace tributary {

#ifdef TRIBUTARY_WEBP
namespace {

void check(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OK:
      return;
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      throw PictureError("truncated WebP");
    case VP8_STATUS_OUT_OF_MEMORY:
      throw std::bad_alloc();
    default:
      throw PictureError("corrupt WebP");
  }
}

// The chunks of a complete file.
class WebpChunks {
 public:
  explicit WebpChunks(std::span<const uint8_t> bytes) {
    const WebPData data = {bytes.data(), bytes.size()};
    WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
    chunks_.reset(WebPDemuxPartial(&data, &state));
    if (state == WEBP_DEMUX_PARSING_HEADER || state == WEBP_DEMUX_PARSED_HEADER) throw PictureError("truncated WebP");
    if (chunks_ == nullptr) throw PictureError("corrupt WebP");
  }

  int orientation() const {
    WebPChunkIterator exif = {};
    if (WebPDemuxGetChunk(chunks_.get(), "EXIF", 1, &exif) == 0) return 1;
    const int orientation = exif_orientation({exif.chunk.bytes, exif.chunk.size});
    WebPDemuxReleaseChunkIterator(&exif);
    return orientation;
  }

 private:
  struct Delete {
    void operator()(WebPDemuxer* chunks) const { WebPDemuxDelete(chunks); }
  };
  std::unique_ptr<WebPDemuxer, Delete> chunks_;
};

}  // namespace

Picture decode_webp(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  WebPDecoderConfig config;
  TRIBUTARY_CHECK(WebPInitDecoderConfig(&config) != 0, "libwebp {:x} differs from the version of the build",
                  WebPGetDecoderVersion());
  check(WebPGetFeatures(bytes.data(), bytes.size(), &config.input));
  check_picture_size(config.input.height, config.input.width, limits);
  if (config.input.has_animation != 0) throw PictureError("animated WebP, not a single picture");
  const int orientation = WebpChunks(bytes).orientation();

  Picture picture{config.input.height, config.input.width, std::move(memory)};
  picture.rgb.resize(static_cast<size_t>(picture.row_bytes() * picture.height));
  config.output.colorspace = MODE_RGB;  // drops alpha, as Pillow's convert("RGB") does
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {picture.rgb.data(), static_cast<int>(picture.row_bytes()), picture.rgb.size()};
  check(WebPDecode(bytes.data(), bytes.size(), &config));
  return apply_orientation(std::move(picture), orientation);
}

#else

Picture decode_webp(std::span<const uint8_t>, const DecodeLimits&, std::vector<uint8_t>) {
  throw PictureError("WebP pictures need a build with libwebp");
}

#endif

}  // namespace tributary

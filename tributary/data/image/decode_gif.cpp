#include "tributary/data/image/decode_gif.h"

#ifdef TRIBUTARY_GIF
#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>
#endif

namespace tributary {

#ifdef TRIBUTARY_GIF
namespace {

using Colour = std::array<uint8_t, 3>;

// Reads the records of a GIF up to the pixels of its first frame.
class GifReader {
 public:
  explicit GifReader(std::span<const uint8_t> bytes) : bytes_(bytes) {
    int error = 0;
    gif_ = DGifOpen(this, on_read, &error);
    if (gif_ == nullptr) fail(error);
  }
  GifReader(const GifReader&) = delete;
  GifReader& operator=(const GifReader&) = delete;
  ~GifReader() { DGifCloseFile(gif_, nullptr); }

  // Reads everything before the pixels.
  void find_frame() {
    for (;;) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      require(DGifGetRecordType(gif_, &type));
      if (type == IMAGE_DESC_RECORD_TYPE) break;
      if (type == TERMINATE_RECORD_TYPE) throw PictureError("GIF without a frame");
      if (type == EXTENSION_RECORD_TYPE) read_extension();
    }
    require(DGifGetImageDesc(gif_));
  }

  // The frame extends the screen if it does not fit, as in Pillow.
  int64_t width() const { return std::max<int64_t>(gif_->SWidth, int64_t{frame().Left} + frame().Width); }
  int64_t height() const { return std::max<int64_t>(gif_->SHeight, int64_t{frame().Top} + frame().Height); }

  void read_pixels(Picture& picture) {
    const std::array<Colour, 256> palette = colours();
    const Colour background = palette[static_cast<size_t>(transparent_)];
    for (size_t i = 0; i < picture.rgb.size(); i += 3) std::copy_n(background.begin(), 3, picture.rgb.begin() + i);
    std::vector<GifPixelType> row(static_cast<size_t>(frame().Width));
    for (const auto& [first, step] : passes()) {
      for (int y = first; y < frame().Height; y += step) {
        require(DGifGetLine(gif_, row.data(), frame().Width));
        uint8_t* to = picture.rgb.data() + (frame().Top + y) * picture.row_bytes() + int64_t{3} * frame().Left;
        for (const GifPixelType index : row) to = std::copy_n(palette[index].begin(), 3, to);
      }
    }
  }

 private:
  const GifImageDesc& frame() const { return gif_->Image; }

  std::vector<std::pair<int, int>> passes() const {
    if (!frame().Interlace) return {{0, 1}};
    return {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  }

  // Grey where there is no colour.
  std::array<Colour, 256> colours() const {
    std::array<Colour, 256> palette;
    for (size_t i = 0; i < palette.size(); ++i) palette[i].fill(static_cast<uint8_t>(i));
    const ColorMapObject* const map = frame().ColorMap != nullptr ? frame().ColorMap : gif_->SColorMap;
    if (map == nullptr) return palette;
    for (size_t i = 0; i < std::min(palette.size(), static_cast<size_t>(map->ColorCount)); ++i)
      palette[i] = {map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue};
    return palette;
  }

  void read_extension() {
    int code = 0;
    GifByteType* block = nullptr;
    require(DGifGetExtension(gif_, &code, &block));
    while (block != nullptr) {
      GraphicsControlBlock control{};
      if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
        transparent_ = control.TransparentColor == NO_TRANSPARENT_COLOR ? 0 : control.TransparentColor;
      require(DGifGetExtensionNext(gif_, &block));
    }
  }

  void require(int status) const {
    if (status != GIF_OK) fail(gif_->Error);
  }

  [[noreturn]] void fail(int error) const {
    if (error == D_GIF_ERR_NOT_ENOUGH_MEM) throw std::bad_alloc();
    if (truncated_) throw PictureError("truncated GIF");
    const char* const reason = GifErrorString(error);
    throw PictureError(fmt::format("corrupt GIF: {}", reason != nullptr ? reason : "invalid data"));
  }

  static int on_read(GifFileType* gif, GifByteType* to, int count) {
    auto* reader = static_cast<GifReader*>(gif->UserData);
    const size_t available = std::min(static_cast<size_t>(count), reader->bytes_.size() - reader->position_);
    std::memcpy(to, reader->bytes_.data() + reader->position_, available);
    reader->position_ += available;
    reader->truncated_ |= available < static_cast<size_t>(count);
    return static_cast<int>(available);
  }

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  bool truncated_ = false;
  int transparent_ = 0;  // the colour of pixels outside of the frame
  GifFileType* gif_ = nullptr;
};

}  // namespace

Picture decode_gif(std::span<const uint8_t> bytes, const DecodeLimits& limits, std::vector<uint8_t> memory) {
  GifReader reader(bytes);
  reader.find_frame();
  check_picture_size(reader.height(), reader.width(), limits);
  check_picture_bytes(reader.height(), reader.width(), bytes.size(), "GIF");
  Picture picture{static_cast<int>(reader.height()), static_cast<int>(reader.width()), std::move(memory)};
  picture.rgb.resize(static_cast<size_t>(picture.row_bytes() * picture.height));
  reader.read_pixels(picture);
  return picture;
}

#else

Picture decode_gif(std::span<const uint8_t>, const DecodeLimits&, std::vector<uint8_t>) {
  throw PictureError("GIF pictures need a build with giflib");
}

#endif

}  // namespace tributary

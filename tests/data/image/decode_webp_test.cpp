#include "tributary/data/image/decode_webp.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#ifdef TRIBUTARY_WEBP
#include <webp/encode.h>
#endif

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/support/pictures.h"
#include "tests/support/temp_dir.h"
#include "tributary/data/image/decode.h"
#include "tributary/data/image/exif.h"
#include "tributary/data/load.h"

namespace tributary {
namespace {

using test::sample_picture;

using Bytes = std::vector<uint8_t>;

std::string webp_error(std::span<const uint8_t> bytes, const DecodeLimits& limits = {}) {
  return test::message_of<PictureError>([&] { decode_picture(bytes, limits); });
}

void append(Bytes& bytes, std::span<const uint8_t> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void append_number(Bytes& bytes, size_t value, int length) {
  for (int i = 0; i < length; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
}

// A RIFF chunk: name, length, payload padded to an even length.
Bytes chunk(std::string_view name, std::span<const uint8_t> payload) {
  Bytes bytes(name.begin(), name.end());
  append_number(bytes, payload.size(), 4);
  append(bytes, payload);
  if (payload.size() % 2 == 1) bytes.push_back(0);
  return bytes;
}

Bytes webp_of(const std::vector<Bytes>& chunks) {
  Bytes payload = {'W', 'E', 'B', 'P'};
  for (const Bytes& each : chunks) append(payload, each);
  return chunk("RIFF", payload);
}

// The VP8X chunk: flags of other chunks, and the size of the picture.
enum Vp8xFlags : uint8_t { kAnimation = 0x02, kExif = 0x08 };
Bytes vp8x(uint8_t flags, size_t width, size_t height) {
  Bytes payload = {flags, 0, 0, 0};
  append_number(payload, width - 1, 3);
  append_number(payload, height - 1, 3);
  return chunk("VP8X", payload);
}

TEST(LooksLikePicture, DistinguishesWebpFromOtherRiffFiles) {
  EXPECT_TRUE(looks_like_picture(webp_of({})));
  for (const std::string_view text : {"RIFF", "RIFF\4\0\0", "RIFF....WAVE", "RIFF....WEB", "RIFX....WEBP", "WEBP"}) {
    EXPECT_FALSE(looks_like_picture({reinterpret_cast<const uint8_t*>(text.data()), text.size()})) << text;
    EXPECT_EQ(webp_error({reinterpret_cast<const uint8_t*>(text.data()), text.size()}),
              "not a JPEG, PNG, WebP, TIFF, BMP or GIF file");
  }
}

#ifdef TRIBUTARY_WEBP

enum class WebpKind { kLossy, kLossless, kLossyWithAlpha, kLosslessWithAlpha };
constexpr WebpKind kKinds[] = {WebpKind::kLossy, WebpKind::kLossless, WebpKind::kLossyWithAlpha,
                               WebpKind::kLosslessWithAlpha};

// Alpha varies and is never 0, because the encoder discards the colour of transparent pixels.
Bytes encode_webp(const Picture& picture, WebpKind kind) {
  constexpr float kQuality = 90;
  Bytes rgba;
  for (size_t i = 0; i < picture.rgb.size(); i += 3) {
    append(rgba, std::span(picture.rgb).subspan(i, 3));
    rgba.push_back(static_cast<uint8_t>(1 + i % 251));
  }
  uint8_t* memory = nullptr;
  size_t size = 0;
  const int width = picture.width, height = picture.height;
  switch (kind) {
    case WebpKind::kLossy:
      size = WebPEncodeRGB(picture.rgb.data(), width, height, 3 * width, kQuality, &memory);
      break;
    case WebpKind::kLossless:
      size = WebPEncodeLosslessRGB(picture.rgb.data(), width, height, 3 * width, &memory);
      break;
    case WebpKind::kLossyWithAlpha:
      size = WebPEncodeRGBA(rgba.data(), width, height, 4 * width, kQuality, &memory);
      break;
    case WebpKind::kLosslessWithAlpha:
      size = WebPEncodeLosslessRGBA(rgba.data(), width, height, 4 * width, &memory);
  }
  const Bytes bytes(memory, memory + size);
  WebPFree(memory);
  EXPECT_FALSE(bytes.empty());
  return bytes;
}

// The chunks of a file without its RIFF header.
Bytes chunks_of(const Bytes& webp) {
  return {webp.begin() + 12, webp.end()};
}

Bytes truncated(const Bytes& bytes, size_t length) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}

// Adds an EXIF chunk after the pixels of `webp`, a file of one chunk.
Bytes with_exif(const Bytes& webp, const Picture& picture, std::span<const uint8_t> payload) {
  return webp_of({vp8x(kExif, static_cast<size_t>(picture.width), static_cast<size_t>(picture.height)), chunks_of(webp),
                  chunk("EXIF", payload)});
}

// An animation with the pixels of `webp` as its only frame.
Bytes animation_of(const Bytes& webp, const Picture& picture) {
  Bytes frame(6, 0);  // at the upper left
  append_number(frame, static_cast<size_t>(picture.width) - 1, 3);
  append_number(frame, static_cast<size_t>(picture.height) - 1, 3);
  append_number(frame, 100, 3);  // milliseconds
  frame.push_back(0);
  append(frame, chunks_of(webp));
  return webp_of({vp8x(kAnimation, static_cast<size_t>(picture.width), static_cast<size_t>(picture.height)),
                  chunk("ANIM", Bytes(6, 0)), chunk("ANMF", frame)});
}

TEST(DecodeWebp, LosslessRoundTrips) {
  for (const WebpKind kind : {WebpKind::kLossless, WebpKind::kLosslessWithAlpha}) {
    for (const auto& [height, width] : {std::pair(1, 1), {1, 9}, {9, 1}, {33, 20}}) {
      const Picture picture = sample_picture(height, width);
      const Picture decoded = decode_picture(encode_webp(picture, kind));
      EXPECT_EQ(decoded.height, height);
      EXPECT_EQ(decoded.width, width);
      EXPECT_EQ(decoded.rgb, picture.rgb) << height << " x " << width;
    }
  }
}

TEST(DecodeWebp, LossyIsClose) {
  const Picture picture = test::plain_picture(17, 23, 200, 100, 50);
  for (const WebpKind kind : {WebpKind::kLossy, WebpKind::kLossyWithAlpha}) {
    const Picture decoded = decode_picture(encode_webp(picture, kind));
    EXPECT_EQ(decoded.height, 17);
    EXPECT_EQ(decoded.width, 23);
    for (size_t i = 0; i < decoded.rgb.size(); ++i) ASSERT_NEAR(decoded.rgb[i], picture.rgb[i], 3);
  }
}

TEST(DecodeWebp, AppliesTheOrientation) {
  const Picture picture = sample_picture(24, 16);
  const Bytes webp = encode_webp(picture, WebpKind::kLossless);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      // The standard has the TIFF only; some programs add JPEG's "Exif" prefix.
      const Bytes named = test::exif_payload(orientation, big_endian);
      for (const size_t skipped : {size_t{0}, size_t{6}}) {
        const auto payload = std::span(named).subspan(skipped);
        const Picture turned = decode_picture(with_exif(webp, picture, payload));
        EXPECT_EQ(turned.height, orientation >= 5 ? 16 : 24) << orientation;
        EXPECT_EQ(turned.rgb, apply_orientation(picture, orientation).rgb) << orientation;
      }
    }
  }
}

TEST(DecodeWebp, IgnoresInvalidExif) {
  const Picture picture = sample_picture(24, 16);
  const Bytes webp = encode_webp(picture, WebpKind::kLossless);
  const Bytes payload = test::exif_payload(6, true);
  for (const size_t length : {size_t{0}, size_t{1}, size_t{6}, size_t{20}})
    EXPECT_EQ(decode_picture(with_exif(webp, picture, truncated(payload, length))).rgb, picture.rgb) << length;
}

TEST(DecodeWebp, IgnoresTrailingBytes) {
  for (const WebpKind kind : kKinds) {
    Bytes webp = encode_webp(sample_picture(8, 8), kind);
    const Picture plain = decode_picture(webp);
    webp.insert(webp.end(), 1000, 0x55);
    EXPECT_EQ(decode_picture(webp).rgb, plain.rgb);
  }
}

TEST(DecodeWebp, RejectsTruncation) {
  const Picture picture = sample_picture(20, 28);
  std::vector<Bytes> files;
  for (const WebpKind kind : kKinds) files.push_back(encode_webp(picture, kind));
  files.push_back(with_exif(files[0], picture, test::exif_payload(6, true)));
  for (const Bytes& webp : files) {
    for (size_t length = 12; length < webp.size(); ++length)
      ASSERT_EQ(webp_error(truncated(webp, length)), "truncated WebP") << length << " of " << webp.size();
  }
}

TEST(DecodeWebp, RejectsTruncatedPixelsInACompleteFile) {
  // All lengths are consistent, but pixels are missing.
  for (const auto& [kind, name] : {std::pair(WebpKind::kLossy, "VP8 "), {WebpKind::kLossless, "VP8L"}}) {
    const Bytes webp = encode_webp(sample_picture(40, 56), kind);
    const std::span<const uint8_t> pixels = std::span(webp).subspan(20);
    for (size_t eighth = 0; eighth < 8; ++eighth) {
      const std::string reason = webp_error(webp_of({chunk(name, pixels.first(pixels.size() * eighth / 8))}));
      EXPECT_TRUE(reason == "truncated WebP" || reason == "corrupt WebP") << eighth << ": " << reason;
    }
  }
}

TEST(DecodeWebp, RejectsAnimations) {
  const Picture picture = sample_picture(20, 28);
  for (const WebpKind kind : {WebpKind::kLossy, WebpKind::kLossless}) {
    const Bytes animation = animation_of(encode_webp(picture, kind), picture);
    EXPECT_EQ(webp_error(animation), "animated WebP, not a single picture");
    EXPECT_EQ(webp_error(truncated(animation, 40)), "animated WebP, not a single picture") << "by the header alone";
  }
}

TEST(DecodeWebp, RejectsTooManyPixelsByTheHeader) {
  // A lossless header: signature byte, then width - 1 and height - 1 with 14 bits each.
  Bytes largest = {0x2f};
  append_number(largest, 0x0fffffff, 4);
  largest.resize(16);
  EXPECT_EQ(webp_error(webp_of({chunk("VP8L", largest)})),
            "16384 x 16384 pixels, more than the limit of 64 megapixels (--max-megapixels)");
  EXPECT_EQ(webp_error(webp_of({vp8x(kAnimation, 65000, 60000)})),
            "65000 x 60000 pixels, more than the limit of 64 megapixels (--max-megapixels)");
  for (const WebpKind kind : kKinds) {
    const Bytes webp = encode_webp(sample_picture(8, 8), kind);
    EXPECT_EQ(webp_error(webp, {63}), "8 x 8 pixels, more than the limit of 6.3e-05 megapixels (--max-megapixels)");
    EXPECT_EQ(decode_picture(webp, {64}).width, 8);
  }
}

TEST(DecodeWebp, RejectsInconsistentSizes) {
  for (const WebpKind kind : {WebpKind::kLossy, WebpKind::kLossless}) {
    const Bytes pixels = chunks_of(encode_webp(sample_picture(20, 28), kind));
    EXPECT_EQ(decode_picture(webp_of({vp8x(0, 28, 20), pixels})).width, 28);
    for (const auto& [width, height] :
         {std::pair(28, 21), {27, 20}, {20, 28}, {1, 1}, {65000, 60000}, {1 << 24, 1 << 24}})
      EXPECT_EQ(webp_error(webp_of({vp8x(0, static_cast<size_t>(width), static_cast<size_t>(height)), pixels})),
                "corrupt WebP")
          << width << " x " << height;
  }
}

TEST(DecodeWebp, RejectsSizesThatExceedTheData) {
  Bytes lossy = encode_webp(sample_picture(32, 32), WebpKind::kLossy);
  lossy[20 + 6] = lossy[20 + 8] = 0xff;  // width and height, behind 3 bytes of the frame's and 3 of its start
  EXPECT_EQ(webp_error(lossy), "truncated WebP");
  Bytes lossless = encode_webp(sample_picture(32, 32), WebpKind::kLossless);
  lossless[20 + 2] |= 0x0f;  // upper bits of the width
  const std::string reason = webp_error(lossless);
  EXPECT_TRUE(reason == "truncated WebP" || reason == "corrupt WebP") << reason;
}

TEST(DecodeWebp, RejectsMissingPixelsAndWrongLengths) {
  const Picture picture = sample_picture(20, 28);
  const Bytes webp = encode_webp(picture, WebpKind::kLossy);
  const auto with_length = [](Bytes bytes, size_t at, uint32_t length) {
    for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>(length >> 8 * i);
    return bytes;
  };
  const struct {
    const char* what;
    Bytes bytes;
  } cases[] = {
      {"a RIFF header only", webp_of({})},
      {"VP8X only", webp_of({vp8x(0, 28, 20)})},
      {"EXIF only", webp_of({vp8x(kExif, 28, 20), chunk("EXIF", test::exif_payload(1, true))})},
      {"a file of length 0", with_length(webp, 4, 0)},
      {"a file of length 4", with_length(webp, 4, 4)},
      {"a file too short for its chunk", with_length(webp, 4, static_cast<uint32_t>(webp.size() / 2))},
      {"a file of 4 GiB", with_length(webp, 4, 0xffffffff)},
      {"a chunk of length 0", with_length(webp, 16, 0)},
      {"a chunk longer than its file", with_length(webp, 16, static_cast<uint32_t>(webp.size()))},
      {"a chunk of 4 GiB", with_length(webp, 16, 0xffffffff)},
  };
  for (const auto& [what, bytes] : cases) {
    const std::string reason = webp_error(bytes);
    EXPECT_TRUE(reason == "truncated WebP" || reason == "corrupt WebP") << what << ": " << reason;
  }
}

TEST(DecodeWebp, SurvivesCorruptBytes) {
  // The result is a picture or a PictureError; the address sanitiser finds everything else.
  const Picture picture = sample_picture(12, 20);
  std::vector<Bytes> files;
  for (const WebpKind kind : kKinds) files.push_back(encode_webp(picture, kind));
  files.push_back(with_exif(files[0], picture, test::exif_payload(6, true)));
  files.push_back(animation_of(files[1], picture));
  for (const Bytes& file : files) {
    for (size_t at = 0; at < file.size(); ++at) {
      for (const int value : {0x00, 0x01, 0x80, 0xff}) {
        Bytes wrong = file;
        wrong[at] = static_cast<uint8_t>(value);
        try {
          const Picture decoded = decode_picture(wrong, {10'000});
          ASSERT_EQ(static_cast<int64_t>(decoded.rgb.size()), decoded.row_bytes() * decoded.height);
        } catch (const PictureError&) {
        }
      }
    }
  }
}

TEST(LoadImages, ReadsWebpAndSkipsBadFiles) {
  const test::TempDir dir;
  const Picture picture = sample_picture(6, 6);
  const Bytes webp = encode_webp(picture, WebpKind::kLossless);
  for (int i = 10; i < 19; ++i) dir.write(fmt::format("{}.png", i), test::encode_png(picture));
  dir.write("19.webp", webp);
  dir.write("20.jpg", webp);  // detected by content
  dir.write("21.webp", animation_of(webp, picture));
  LoadOptions options;
  options.preprocessing = {6, 6};
  std::vector<SkippedPicture> bad;
  const ImageSet set = load_images(dir.path(), options, &bad);
  ASSERT_EQ(set.size(), 11);
  for (int64_t i = 0; i < set.size(); ++i)
    EXPECT_TRUE(std::equal(picture.rgb.begin(), picture.rgb.end(), set.picture(i)))
        << set.names[static_cast<size_t>(i)];
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].path, dir / "21.webp");
  EXPECT_EQ(bad[0].reason, "animated WebP, not a single picture");
}

#else

TEST(DecodeWebp, NeedsLibwebp) {
  EXPECT_EQ(webp_error(webp_of({})), "WebP pictures need a build with libwebp");
  EXPECT_EQ(webp_error(webp_of({vp8x(0, 28, 20)})), "WebP pictures need a build with libwebp");
}

TEST(LoadImages, SkipsWebpWithoutLibwebp) {
  const test::TempDir dir;
  for (int i = 10; i < 20; ++i) dir.write(fmt::format("{}.png", i), test::encode_png(sample_picture(6, 6)));
  dir.write("20.webp", webp_of({}));
  LoadOptions options;
  options.preprocessing = {6, 6};
  std::vector<SkippedPicture> bad;
  EXPECT_EQ(load_images(dir.path(), options, &bad).size(), 10);
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].reason, "WebP pictures need a build with libwebp");
}

#endif

}  // namespace
}  // namespace tributary

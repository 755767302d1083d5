#include "tributary/data/image/decode.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/pictures.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/files.h"
#include "tributary/data/image/exif.h"

namespace tributary {
namespace {

using test::encode_jpeg;
using test::encode_png;
using test::JpegKind;
using test::sample_picture;

using Bytes = std::vector<uint8_t>;

std::string error_of(std::span<const uint8_t> bytes, const DecodeLimits& limits = {}) {
  return test::message_of<PictureError>([&] { decode_picture(bytes, limits); });
}

// Sets the size in a PNG's header and updates the checksum.
Bytes with_png_size(Bytes png, uint32_t width, uint32_t height) {
  for (size_t i = 0; i < 4; ++i) {
    png[16 + i] = static_cast<uint8_t>(width >> (24 - 8 * i));
    png[20 + i] = static_cast<uint8_t>(height >> (24 - 8 * i));
  }
  const auto checksum = static_cast<uint32_t>(crc32(0, png.data() + 12, 17));
  for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<uint8_t>(checksum >> (24 - 8 * i));
  return png;
}

// Inserts a chunk at byte `offset` of a PNG.
Bytes with_png_chunk(Bytes png, size_t offset, const char* name, std::span<const uint8_t> payload) {
  Bytes chunk;
  const auto put = [&chunk](size_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) chunk.push_back(static_cast<uint8_t>(number >> shift));
  };
  put(payload.size());
  chunk.insert(chunk.end(), name, name + 4);
  chunk.insert(chunk.end(), payload.begin(), payload.end());
  put(crc32_z(0, chunk.data() + 4, chunk.size() - 4));
  png.insert(png.begin() + static_cast<std::ptrdiff_t>(offset), chunk.begin(), chunk.end());
  return png;
}

constexpr size_t kAfterPngHeader = 8 + 25;
constexpr size_t kPngEnd = 12;

// The offset of a JPEG's frame header (SOF0 or SOF2): marker, length, depth, height, width, components.
size_t frame_header(const Bytes& jpeg) {
  size_t at = 2;
  while (jpeg[at + 1] != 0xc0 && jpeg[at + 1] != 0xc2) at += 2 + size_t{jpeg[at + 2]} * 256 + jpeg[at + 3];
  return at;
}

Bytes with_jpeg_size(Bytes jpeg, int width, int height) {
  const size_t at = frame_header(jpeg);
  jpeg[at + 5] = static_cast<uint8_t>(height >> 8);
  jpeg[at + 6] = static_cast<uint8_t>(height & 0xff);
  jpeg[at + 7] = static_cast<uint8_t>(width >> 8);
  jpeg[at + 8] = static_cast<uint8_t>(width & 0xff);
  return jpeg;
}

TEST(DecodePicture, PngIsLossless) {
  for (const bool interlaced : {false, true}) {
    for (const auto& [height, width] : {std::pair(1, 1), {1, 9}, {9, 1}, {33, 20}}) {
      const Picture picture = sample_picture(height, width);
      const Picture decoded = decode_picture(encode_png(picture, interlaced));
      EXPECT_EQ(decoded.height, height);
      EXPECT_EQ(decoded.width, width);
      EXPECT_EQ(decoded.rgb, picture.rgb) << height << " x " << width;
    }
  }
}

TEST(DecodePicture, AppliesThePngOrientation) {
  const Picture picture = sample_picture(9, 14);
  const Bytes png = encode_png(picture);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Picture upright = apply_orientation(picture, orientation);
    for (const bool big_endian : {false, true}) {
      const Bytes named = test::exif_payload(orientation, big_endian);
      for (const size_t offset : {kAfterPngHeader, png.size() - kPngEnd}) {
        const Picture turned = decode_picture(with_png_chunk(png, offset, "eXIf", std::span(named).subspan(6)));
        EXPECT_EQ(turned.height, upright.height) << orientation;
        EXPECT_EQ(turned.width, upright.width) << orientation;
        EXPECT_EQ(turned.rgb, upright.rgb) << orientation << " at " << offset;
      }
    }
  }
}

TEST(DecodePicture, IgnoresInvalidExifInPng) {
  const Picture picture = sample_picture(9, 14);
  const Bytes png = encode_png(picture), named = test::exif_payload(6, true);
  const std::span<const uint8_t> exif = std::span(named).subspan(6);
  const size_t orientation_value = 8 + 2 + 12 + 8;
  for (size_t length = 0; length <= orientation_value; ++length)
    EXPECT_EQ(decode_picture(with_png_chunk(png, kAfterPngHeader, "eXIf", exif.first(length))).rgb, picture.rgb)
        << length;
  EXPECT_EQ(decode_picture(with_png_chunk(png, kAfterPngHeader, "eXIf", Bytes(500, 0x49))).rgb, picture.rgb);
  EXPECT_EQ(decode_picture(with_png_chunk(png, kAfterPngHeader, "teXt", exif)).rgb, picture.rgb);
  Bytes long_one = with_png_chunk(png, kAfterPngHeader, "eXIf", exif);
  long_one[kAfterPngHeader] = 0x39;  // the highest byte of its length
  EXPECT_EQ(error_of(long_one), "truncated PNG");
  Bytes wrong = with_png_chunk(png, kAfterPngHeader, "eXIf", exif);
  wrong[kAfterPngHeader + 8 + exif.size()] ^= 1;  // its checksum
  EXPECT_EQ(decode_picture(wrong).rgb, picture.rgb);
}

TEST(DecodePicture, JpegIsNearlyLossless) {
  const Picture picture = test::plain_picture(17, 23, 200, 100, 50);
  for (const JpegKind kind : {JpegKind::kRgb, JpegKind::kProgressive}) {
    const Picture decoded = decode_picture(encode_jpeg(picture, kind));
    EXPECT_EQ(decoded.height, 17);
    EXPECT_EQ(decoded.width, 23);
    for (size_t i = 0; i < decoded.rgb.size(); ++i) ASSERT_NEAR(decoded.rgb[i], picture.rgb[i], 3);
  }
}

TEST(DecodePicture, ConvertsGreyJpegToRgb) {
  const Picture decoded = decode_picture(encode_jpeg(sample_picture(9, 9), JpegKind::kGrey));
  for (size_t i = 0; i < decoded.rgb.size(); i += 3) {
    EXPECT_EQ(decoded.rgb[i], decoded.rgb[i + 1]);
    EXPECT_EQ(decoded.rgb[i], decoded.rgb[i + 2]);
  }
}

TEST(DecodePicture, DecodesAdobeCmyk) {
  // Cyan, magenta, yellow and black all 0 is white paper; encode_jpeg stores ink inverted.
  for (const JpegKind kind : {JpegKind::kCmyk, JpegKind::kYcck}) {
    const Picture decoded = decode_picture(encode_jpeg(test::plain_picture(8, 8, 255, 0, 0), kind));
    EXPECT_NEAR(decoded.rgb[0], 255, 3);
    EXPECT_NEAR(decoded.rgb[1], 0, 3);
    EXPECT_NEAR(decoded.rgb[2], 0, 3);
  }
}

TEST(DecodePicture, DetectsTheFormatAndIgnoresTrailingBytes) {
  Bytes jpeg = encode_jpeg(sample_picture(8, 8));
  const Picture plain = decode_picture(jpeg);
  jpeg.insert(jpeg.end(), 1000, 0x55);
  EXPECT_EQ(decode_picture(jpeg).rgb, plain.rgb);
}

TEST(DecodePicture, RejectsOtherFiles) {
  EXPECT_EQ(error_of(Bytes{}), "empty file");
  for (const Bytes& bytes : {Bytes{0xff}, Bytes{0xff, 0xd8}, Bytes{'G', 'I', 'F', '7', '9', 'a'}, Bytes(100, 0),
                             Bytes{0x89, 'P', 'N', 'G', '\n', '\n', 0x1a, '\n'}})
    EXPECT_EQ(error_of(bytes), "not a JPEG, PNG, WebP, TIFF, BMP or GIF file");
}

TEST(DecodePicture, RejectsTruncatedJpeg) {
  for (const JpegKind kind : {JpegKind::kRgb, JpegKind::kGrey, JpegKind::kProgressive, JpegKind::kYcck}) {
    const Bytes jpeg = encode_jpeg(sample_picture(20, 28), kind);
    for (size_t length = 3; length < jpeg.size(); ++length)
      ASSERT_EQ(error_of(Bytes(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(length))), "truncated JPEG")
          << length << " of " << jpeg.size();
  }
}

TEST(DecodePicture, RejectsTruncatedPng) {
  for (const bool interlaced : {false, true}) {
    const Bytes png = encode_png(sample_picture(20, 28), interlaced);
    for (size_t length = 8; length < png.size(); ++length)
      ASSERT_EQ(error_of(Bytes(png.begin(), png.begin() + static_cast<std::ptrdiff_t>(length))), "truncated PNG")
          << length << " of " << png.size();
  }
}

TEST(DecodePicture, RejectsTooManyPixelsByTheHeader) {
  const Bytes jpeg = encode_jpeg(sample_picture(8, 8));
  const Bytes png = encode_png(sample_picture(8, 8));
  const std::string reason = "65000 x 60000 pixels, more than the limit of 64 megapixels (--max-megapixels)";
  EXPECT_EQ(error_of(with_jpeg_size(jpeg, 65000, 60000)), reason);
  EXPECT_EQ(error_of(with_png_size(png, 65000, 60000)), reason);
  const std::string small = "8 x 8 pixels, more than the limit of 6.3e-05 megapixels (--max-megapixels)";
  EXPECT_EQ(error_of(jpeg, {63}), small);
  EXPECT_EQ(error_of(png, {63}), small);
  EXPECT_EQ(decode_picture(jpeg, {64}).width, 8);
  EXPECT_EQ(decode_picture(png, {64}).width, 8);
}

TEST(DecodePicture, RejectsSizesThatExceedTheData) {
  const Bytes jpeg = encode_jpeg(sample_picture(32, 32));
  for (const auto& [width, height] : {std::pair(32, 64), {64, 32}, {1000, 1000}, {8000, 8000}, {0, 32}, {32, 0}})
    EXPECT_NE(error_of(with_jpeg_size(jpeg, width, height)).find(" JPEG"), std::string::npos)
        << width << " x " << height;
  const Bytes png = encode_png(sample_picture(32, 32));
  for (const auto& [width, height] : {std::pair(32u, 33u),
                                      {33u, 32u},
                                      {8000u, 8000u},
                                      {0u, 32u},
                                      {32u, 0u},
                                      {0x7fffffffu, 1u},
                                      {0xffffffffu, 0xffffffffu}})
    EXPECT_NE(error_of(with_png_size(png, width, height)).find(" PNG"), std::string::npos) << width << " x " << height;
}

TEST(DecodePicture, RejectsWrongPngChecksums) {
  Bytes png = encode_png(sample_picture(32, 32));
  png[60] ^= 0x10;  // within the pixels
  EXPECT_NE(error_of(png).find("corrupt PNG"), std::string::npos);
}

TEST(DecodePicture, RejectsOtherJpegDepths) {
  Bytes jpeg = encode_jpeg(sample_picture(32, 32));
  jpeg[frame_header(jpeg) + 4] = 12;
  EXPECT_NE(error_of(jpeg).find("corrupt JPEG"), std::string::npos);
}

TEST(DecodePicture, RejectsTooManyJpegScans) {
  // Repeats the last scan; each repetition is valid.
  const Bytes jpeg = encode_jpeg(sample_picture(8, 8), JpegKind::kTwoScans);
  const Bytes marker = {0xff, 0xda};
  const auto scan = std::find_end(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
  const auto repeated = [&](int times) {
    Bytes bytes(jpeg.begin(), scan);
    for (int i = 0; i < times; ++i) bytes.insert(bytes.end(), scan, jpeg.end() - 2);
    bytes.insert(bytes.end(), jpeg.end() - 2, jpeg.end());
    return bytes;
  };
  EXPECT_EQ(decode_picture(repeated(400)).rgb, decode_picture(jpeg).rgb);
  EXPECT_EQ(error_of(repeated(600)), "corrupt JPEG: more than 500 scans");
  // A picture of half the largest size may have twice the scans of the largest.
  EXPECT_EQ(decode_picture(repeated(60), {2 * 64}).rgb, decode_picture(jpeg).rgb);
  EXPECT_EQ(error_of(repeated(70), {2 * 64}), "corrupt JPEG: more than 64 scans");
}

TEST(DecodePicture, LimitsTheCoefficientsOfAProgressiveJpeg) {
  // Colours are subsampled: 1.5 coefficients per pixel, of 2 bytes each.
  const Bytes subsampled = encode_jpeg(test::plain_picture(640, 640, 1, 2, 3), JpegKind::kProgressive);
  EXPECT_EQ(decode_picture(subsampled, {640 * 640}).width, 640);
  // All colours in full: 3 coefficients per pixel.
  Bytes full = subsampled;
  full[frame_header(full) + 11] = 0x11;
  EXPECT_EQ(error_of(full, {640 * 640}),
            "progressive JPEG of 640 x 640 pixels needs 2 MB, more than the limit of 1 MB (--max-megapixels)");
  EXPECT_EQ(error_of(full, {2 * 640 * 640}).find("needs"), std::string::npos);
}

TEST(DecodePicture, RejectsShortJpegsBeforeAllocating) {
  const Bytes jpeg = with_jpeg_size(encode_jpeg(sample_picture(8, 8)), 8000, 8000);
  EXPECT_EQ(error_of(jpeg), "truncated JPEG: " + std::to_string(jpeg.size()) + " bytes for 8000 x 8000 pixels");
}

TEST(DecodePicture, SurvivesCorruptBytes) {
  // The result is a picture or a PictureError; the address sanitiser finds everything else.
  for (const Bytes& file : {encode_jpeg(sample_picture(12, 20)), encode_jpeg(sample_picture(12, 20), JpegKind::kYcck),
                            encode_jpeg(sample_picture(12, 20), JpegKind::kProgressive),
                            encode_png(sample_picture(12, 20)), encode_png(sample_picture(12, 20), true)}) {
    for (size_t at = 0; at < file.size(); ++at) {
      for (const int value : {0x00, 0x01, 0x80, 0xff}) {
        Bytes wrong = file;
        wrong[at] = static_cast<uint8_t>(value);
        try {
          const Picture picture = decode_picture(wrong, {10'000});
          ASSERT_EQ(static_cast<int64_t>(picture.rgb.size()), picture.row_bytes() * picture.height);
        } catch (const PictureError&) {
        }
      }
    }
  }
}

TEST(LooksLikePictureName, IgnoresCase) {
  for (const char* name : {"a.jpg", "a.JPG", "dir/b.jpeg", "c.JpEg", "d.png", "e.PNG", "f.webp", "g.WebP",
                           "with space.png", "x.y.jpg", "a.gif", "a.TIF", "a.tiff", "a.bmp", "a.jfif"})
    EXPECT_TRUE(looks_like_picture_name(name)) << name;
  for (const char* name :
       {"", "jpg", ".jpg", "a.jpg.txt", "a.heic", "a.jpgx", "ajpg", "a.jp", "jpg/a", "webp", "a.web"})
    EXPECT_FALSE(looks_like_picture_name(name)) << name;
}

TEST(LooksLikePicture, ChecksTheFirstBytes) {
  EXPECT_TRUE(looks_like_picture(encode_jpeg(sample_picture(2, 2))));
  EXPECT_TRUE(looks_like_picture(encode_png(sample_picture(2, 2))));
  using std::string_literals::operator""s;
  for (const std::string& start : {"GIF89a"s, "II*\0"s, "MM\0*"s, "BM\1\2\3\4\0\0\0\0"s})
    EXPECT_TRUE(looks_like_picture(bytes_of(start))) << start;
  EXPECT_FALSE(looks_like_picture(bytes_of("BMW/1.jpg 0\n"))) << "a list of pictures";
  EXPECT_FALSE(looks_like_picture(Bytes{}));
  EXPECT_FALSE(looks_like_picture(Bytes{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'}));
}

}  // namespace
}  // namespace tributary

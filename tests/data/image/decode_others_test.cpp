// TIFF, BMP and GIF: damaged files and layouts that are not supported. Their pixels are compared with Pillow's in
// pillow_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/pictures.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/files.h"
#include "tributary/base/little_endian.h"
#include "tributary/data/image/decode.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string little(uint64_t value, size_t length) {
  return little_endian(value, length);
}

std::string reason_of(const std::string& file, const DecodeLimits& limits = {}) {
  return test::message_of<PictureError>([&] { decode_picture(bytes_of(file), limits); });
}

struct Bmp {
  uint32_t width = 2, height = 2, bits = 24, compression = 0, header = 40, offset = 54;
  std::string rest = std::string(16, '\x55');
  std::string bytes() const {
    return "BM" + little(0, 8) + little(offset, 4) + little(header, 4) + little(width, 4) + little(height, 4) +
           little(1, 2) + little(bits, 2) + little(compression, 4) + little(0, 20) + rest;
  }
};

// The first bytes of a GIF of 2 x 2 pixels with a palette of two colours, and its one frame.
const std::string kGifHead = std::string("GIF89a") + little(2, 2) + little(2, 2) + "\x80" + little(0, 2) +
                             std::string("\x0a\x14\x1e\xc8\xd2\xdc", 6);
const std::string kGifFrame = "," + little(0, 4) + little(2, 2) + little(2, 2) + little(0, 1) +
                              std::string("\x02\x03\x0c\x10\x05\x00;", 7);  // pixels 1, 0, 0, 1

struct Tiff {
  uint32_t width = 2, height = 2, bits = 8, compression = 1, photometric = 2, samples = 3, format = 1, offset = 0;
  std::string pixels = std::string(12, '\x55');
  std::string bytes() const {
    std::string entries;
    uint32_t count = 0;
    const auto add = [&](uint32_t tag, uint32_t value) {
      entries += little(tag, 2) + little(4, 2) + little(1, 4) + little(value, 4);
      ++count;
    };
    const uint32_t start = 8 + 2 + 12 * 10 + 4;
    add(256, width);
    add(257, height);
    add(258, bits);
    add(259, compression);
    add(262, photometric);
    add(273, offset > 0 ? offset : start);
    add(277, samples);
    add(278, height);
    add(279, static_cast<uint32_t>(pixels.size()));
    add(339, format);
    return std::string("II*\0", 4) + little(8, 4) + little(count, 2) + entries + little(0, 4) + pixels;
  }
};

bool can_read(const std::string& format) {
#ifndef TRIBUTARY_TIFF
  if (format == "TIFF") return false;
#endif
#ifndef TRIBUTARY_GIF
  if (format == "GIF") return false;
#endif
  return !format.empty();
}

TEST(DecodeOthers, NamesWhatIsWrong) {
  struct Case {
    const char* what;
    std::string format, file, reason;
  };
  Bmp bmp;
  Tiff tiff;
  const auto with = [](auto file, auto change) {
    change(file);
    return file.bytes();
  };
  const std::vector<Case> cases = {
      {"BMP of one byte less", "BMP", bmp.bytes().substr(0, 54 + 8 + 5), "truncated BMP"},
      {"BMP without pixels", "BMP", bmp.bytes().substr(0, 54), "truncated BMP"},
      {"BMP header cut", "BMP", bmp.bytes().substr(0, 30), "truncated BMP"},
      {"BMP pixels beyond the file", "BMP", with(bmp, [](Bmp& b) { b.offset = 0xfffffff0; }), "truncated BMP"},
      {"BMP of a huge size", "BMP", with(bmp, [](Bmp& b) { b.width = b.height = 60000; }),
       "60000 x 60000 pixels, more than the limit of 64 megapixels (--max-megapixels)"},
      {"BMP without width", "BMP", with(bmp, [](Bmp& b) { b.width = 0; }), "no pixels"},
      {"BMP of negative width", "BMP", with(bmp, [](Bmp& b) { b.width = 0x80000000; }), "no pixels"},
      {"BMP of the lowest height", "BMP", with(bmp, [](Bmp& b) { b.height = 0x80000000; }),
       "2 x 2147483648 pixels, more than the limit of 64 megapixels (--max-megapixels)"},
      {"BMP of 7 bits", "BMP", with(bmp, [](Bmp& b) { b.bits = 7, b.rest = std::string(600, '\1'); }),
       "BMP of 7 bits with compression 0, which is not supported"},
      {"BMP with a JPEG inside", "BMP", with(bmp, [](Bmp& b) { b.compression = 4; }),
       "BMP of 24 bits with compression 4, which is not supported"},
      {"BMP of an unknown header", "BMP", with(bmp, [](Bmp& b) { b.header = 13; }),
       "BMP with a header of 13 bytes, which is not supported"},
      {"BMP runs without an end", "BMP",
       with(bmp, [](Bmp& b) { b.bits = 8, b.compression = 1, b.offset = 54 + 1024, b.rest = std::string(1026, '\1'); }),
       "truncated BMP"},
      {"GIF without a frame", "GIF", kGifHead + ";", "GIF without a frame"},
      {"GIF cut in its palette", "GIF", kGifHead.substr(0, 15), "truncated GIF"},
      {"GIF cut in its pixels", "GIF", (kGifHead + kGifFrame).substr(0, kGifHead.size() + 12), "truncated GIF"},
      {"GIF of a huge screen", "GIF", std::string("GIF89a") + little(0xffffffff, 4) + little(0, 3) + kGifFrame,
       "65535 x 65535 pixels"},
      {"GIF of an unknown block", "GIF", kGifHead + "?", "corrupt GIF: "},
      {"TIFF header cut", "TIFF", tiff.bytes().substr(0, 8), "truncated TIFF"},
      {"TIFF directory cut", "TIFF", tiff.bytes().substr(0, 100), "truncated TIFF"},
      {"TIFF pixels cut", "TIFF", tiff.bytes().substr(0, tiff.bytes().size() - 1), "truncated TIFF"},
      {"TIFF pixels beyond the file", "TIFF", with(tiff, [](Tiff& t) { t.offset = 0xfffffff0; }), "TIFF"},
      {"TIFF of a huge size", "TIFF", with(tiff, [](Tiff& t) { t.width = t.height = 60000; }),
       "60000 x 60000 pixels, more than the limit of 64 megapixels (--max-megapixels)"},
      {"TIFF without width", "TIFF", with(tiff, [](Tiff& t) { t.width = 0; }), ""},
      {"TIFF of floating-point numbers", "TIFF", with(tiff, [](Tiff& t) { t.bits = 32, t.format = 3; }),
       "TIFF of 3 samples of 32 bits, photometric 2, which is not supported"},
      {"TIFF of an unknown compression", "TIFF", with(tiff, [](Tiff& t) { t.compression = 50000; }),
       "TIFF with compression 50000, which is not supported"},
      {"TIFF in CIELab", "TIFF", with(tiff, [](Tiff& t) { t.photometric = 8; }),
       "photometric 8, which is not supported"},
      {"TIFF of many samples", "TIFF", with(tiff, [](Tiff& t) { t.samples = 5000; }), "5000 samples"},
      {"TIFF without its palette", "TIFF", with(tiff, [](Tiff& t) { t.photometric = 3, t.samples = 1, t.bits = 4; }),
       "TIFF"},
      {"TIFF with damaged LZW", "TIFF", with(tiff, [](Tiff& t) { t.compression = 5; }), "TIFF"},
      {"HEIC", "HEIC", little(0x18000000, 4) + "ftypheic" + little(0, 20),
       "HEIC, AVIF or video (heic), which cannot be read; convert it to JPEG or PNG"},
  };
  for (const Case& bad : cases) {
    if (!can_read(bad.format)) continue;
    EXPECT_THAT(reason_of(bad.file), HasSubstr(bad.reason)) << bad.what;
  }
  EXPECT_EQ(decode_picture(bytes_of(bmp.bytes())).width, 2);
}

TEST(DecodeOthers, BuildsWithoutALibrarySaySo) {
  if (!can_read("GIF")) {
    EXPECT_EQ(reason_of(kGifHead + kGifFrame), "GIF pictures need a build with giflib");
  }
  if (!can_read("TIFF")) {
    EXPECT_EQ(reason_of(Tiff().bytes()), "TIFF pictures need a build with libtiff 4.5 or later");
  }
}

TEST(DecodeOthers, ReadsTheFirstFrameOfAGif) {
  if (!can_read("GIF")) GTEST_SKIP() << "skipped: built without giflib";
  const std::vector<uint8_t> expected = {200, 210, 220, 10, 20, 30, 10, 20, 30, 200, 210, 220};
  EXPECT_EQ(decode_picture(bytes_of(kGifHead + kGifFrame)).rgb, expected);
  EXPECT_EQ(decode_picture(bytes_of(kGifHead + kGifFrame.substr(0, kGifFrame.size() - 1) + ",later frames")).rgb,
            expected);
}

TEST(DecodeOthers, KeepsToThePixelLimit) {
  EXPECT_THAT(reason_of(Bmp().bytes(), {3}), StartsWith("2 x 2 pixels, more than the limit of"));
  if (can_read("GIF")) {
    EXPECT_THAT(reason_of(kGifHead + kGifFrame, {3}), StartsWith("2 x 2 pixels"));
  }
  if (can_read("TIFF")) {
    EXPECT_THAT(reason_of(Tiff().bytes(), {3}), StartsWith("2 x 2 pixels"));
  }
}

TEST(DecodeOthers, SurvivesCorruptAndTruncatedBytes) {
  // The result is a picture or a PictureError; the address sanitiser finds everything else.
  Bmp runs;
  runs.bits = 8, runs.compression = 1, runs.offset = 54 + 1024;
  runs.rest = std::string(1024, '\x33') + std::string("\2\7\0\2\1\1\2\5\0\1", 10);
  const auto decode = [](const std::string& bytes) {
    try {
      const Picture picture = decode_picture(bytes_of(bytes), {10'000});
      ASSERT_EQ(static_cast<int64_t>(picture.rgb.size()), picture.row_bytes() * picture.height);
    } catch (const PictureError&) {
    }
  };
  for (const std::string& file : {Bmp().bytes(), runs.bytes(), kGifHead + kGifFrame, Tiff().bytes()}) {
    for (size_t at = 0; at < file.size(); ++at) {
      decode(file.substr(0, at));
      for (const int value : {0x00, 0x01, 0x80, 0xff}) {
        std::string wrong = file;
        wrong[at] = static_cast<char>(value);
        decode(wrong);
      }
    }
  }
}

}  // namespace
}  // namespace tributary

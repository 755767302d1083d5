#include "tributary/data/image/exif.h"

#include <gtest/gtest.h>

#include "tests/support/pictures.h"
#include "tributary/data/image/decode.h"

namespace tributary {
namespace {

// A picture with the given red values.
Picture red_rows(const std::vector<std::vector<int>>& rows) {
  Picture picture{static_cast<int>(rows.size()), static_cast<int>(rows[0].size()), {}};
  for (const auto& row : rows) {
    for (const int red : row) picture.rgb.insert(picture.rgb.end(), {static_cast<uint8_t>(red), 7, 9});
  }
  return picture;
}

TEST(ApplyOrientation, FollowsTheStandard) {
  const std::vector<std::vector<int>> stored = {{1, 2, 3}, {4, 5, 6}};
  const struct {
    int orientation;
    std::vector<std::vector<int>> upright;
  } cases[] = {
      {0, stored},
      {1, stored},
      {2, {{3, 2, 1}, {6, 5, 4}}},
      {3, {{6, 5, 4}, {3, 2, 1}}},
      {4, {{4, 5, 6}, {1, 2, 3}}},
      {5, {{1, 4}, {2, 5}, {3, 6}}},
      {6, {{4, 1}, {5, 2}, {6, 3}}},
      {7, {{6, 3}, {5, 2}, {4, 1}}},
      {8, {{3, 6}, {2, 5}, {1, 4}}},
      {9, stored},
  };
  for (const auto& [orientation, upright] : cases) {
    const Picture expected = red_rows(upright);
    const Picture turned = apply_orientation(red_rows(stored), orientation);
    EXPECT_EQ(turned.height, expected.height) << orientation;
    EXPECT_EQ(turned.width, expected.width) << orientation;
    EXPECT_EQ(turned.rgb, expected.rgb) << orientation;
  }
}

TEST(ExifOrientation, IsReadInBothByteOrders) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true})
      EXPECT_EQ(exif_orientation(test::exif_payload(orientation, big_endian)), orientation);
  }
}

TEST(ExifOrientation, IsUprightForInvalidValues) {
  for (const int value : {0, 9, 255, 65535}) EXPECT_EQ(exif_orientation(test::exif_payload(value, true)), 1);
}

TEST(ExifOrientation, IsUprightForTruncatedSegments) {
  const std::vector<uint8_t> payload = test::exif_payload(6, false);
  const size_t end_of_value = payload.size() - 4 - 2;  // without the next directory's offset and the padding
  for (size_t length = 0; length <= payload.size(); ++length) {
    // An exact copy, so that the address sanitiser finds reads beyond the end.
    const std::vector<uint8_t> shortened(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(exif_orientation(shortened), length >= end_of_value ? 6 : 1) << length;
  }
}

TEST(ExifOrientation, SurvivesCorruptBytes) {
  const std::vector<uint8_t> payload = test::exif_payload(6, true);
  for (size_t at = 0; at < payload.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> wrong = payload;
      wrong[at] = static_cast<uint8_t>(value);
      const int orientation = exif_orientation(wrong);
      EXPECT_TRUE(orientation >= 1 && orientation <= 8) << at;
    }
  }
}

TEST(ExifOrientation, SurvivesADirectoryOutOfBounds) {
  for (const int where : {10, 11, 12, 13}) {  // the bytes of the directory's offset
    std::vector<uint8_t> wrong = test::exif_payload(6, true);
    wrong[static_cast<size_t>(where)] = 0xff;
    EXPECT_EQ(exif_orientation(wrong), 1) << where;
  }
}

TEST(ExifOrientation, IsReadAsALong) {
  std::vector<uint8_t> payload = test::exif_payload(0, false);
  const size_t entry = 6 + 8 + 2 + 12;
  payload[entry + 2] = 4;  // type LONG
  payload[entry + 8] = 3;
  EXPECT_EQ(exif_orientation(payload), 3);
  payload[entry + 2] = 2;  // text is no orientation
  EXPECT_EQ(exif_orientation(payload), 1);
}

TEST(DecodePicture, AppliesTheJpegOrientation) {
  const Picture picture = test::sample_picture(24, 16);
  const std::vector<uint8_t> jpeg = test::encode_jpeg(picture);
  const Picture stored = decode_picture(jpeg);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      const auto turned = decode_picture(test::with_app1(jpeg, test::exif_payload(orientation, big_endian)));
      const Picture expected = apply_orientation(stored, orientation);
      EXPECT_EQ(turned.height, orientation >= 5 ? 16 : 24) << orientation;
      EXPECT_EQ(turned.rgb, expected.rgb) << orientation;
    }
  }
}

TEST(DecodePicture, IgnoresInvalidExifInJpeg) {
  const std::vector<uint8_t> jpeg = test::encode_jpeg(test::sample_picture(24, 16));
  std::vector<uint8_t> payload = test::exif_payload(6, true);
  payload.resize(20);
  EXPECT_EQ(decode_picture(test::with_app1(jpeg, payload)).rgb, decode_picture(jpeg).rgb);
}

}  // namespace
}  // namespace tributary

// Properties of the resize; pillow_test.cpp compares the bits.
#include "tributary/data/image/resize.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/pictures.h"

namespace tributary {
namespace {

std::vector<int> reds(const Picture& picture) {
  std::vector<int> values;
  for (size_t i = 0; i < picture.rgb.size(); i += 3) values.push_back(picture.rgb[i]);
  return values;
}

Picture row_of(const std::vector<int>& values) {
  Picture picture{1, static_cast<int>(values.size()), {}};
  for (const int value : values) picture.rgb.insert(picture.rgb.end(), 3, static_cast<uint8_t>(value));
  return picture;
}

TEST(ResizeBilinear, KeepsPicturesOfTheRightSize) {
  const Picture picture = test::sample_picture(13, 7);
  EXPECT_EQ(resize_bilinear(picture, 13, 7).rgb, picture.rgb);
}

TEST(ResizeBilinear, ReturnsTheRequestedSize) {
  for (const auto& [height, width] : {std::pair(1, 1), {1, 50}, {50, 1}, {13, 50}, {50, 7}, {224, 224}}) {
    const Picture resized = resize_bilinear(test::sample_picture(13, 7), height, width);
    EXPECT_EQ(resized.height, height);
    EXPECT_EQ(resized.width, width);
    EXPECT_EQ(static_cast<int64_t>(resized.rgb.size()), resized.row_bytes() * height);
  }
}

TEST(ResizeBilinear, PreservesConstantColours) {
  for (const int value : {0, 1, 127, 254, 255}) {
    const auto byte = static_cast<uint8_t>(value);
    for (const int size : {1, 3, 17, 224}) {
      const Picture resized = resize_bilinear(test::plain_picture(37, 51, byte, byte, byte), size, size);
      EXPECT_TRUE(std::all_of(resized.rgb.begin(), resized.rgb.end(), [&](uint8_t v) { return v == byte; })) << value;
    }
  }
}

TEST(ResizeBilinear, WeightsNeighboursByDistance) {
  // Doubling: centres are off by a quarter of a pixel, so the weights are 3/4 and 1/4.
  EXPECT_EQ(reds(resize_bilinear(row_of({0, 100}), 1, 4)), (std::vector<int>{0, 25, 75, 100}));
  // Halving: the weights are 1/8 3/8 3/8 1/8, truncated and renormalised at the edges.
  EXPECT_EQ(reds(resize_bilinear(row_of({0, 70, 140, 210}), 1, 2)), (std::vector<int>{50, 160}));
}

TEST(ResizeBilinear, IsSymmetricInHeightAndWidth) {
  const Picture picture = test::sample_picture(31, 31);
  Picture turned = picture;
  for (int y = 0; y < 31; ++y) {
    for (int x = 0; x < 31; ++x) std::copy_n(&picture.rgb[3 * (31 * x + y)], 3, &turned.rgb[3 * (31 * y + x)]);
  }
  const Picture wide = resize_bilinear(picture, 31, 12);
  const Picture tall = resize_bilinear(turned, 12, 31);
  for (int y = 0; y < 31; ++y) {
    for (int x = 0; x < 12; ++x) ASSERT_EQ(wide.rgb[3 * (12 * y + x)], tall.rgb[3 * (31 * x + y)]);
  }
}

TEST(ResizeBilinear, RejectsEmptySizes) {
  EXPECT_THROW(resize_bilinear(test::sample_picture(2, 2), 0, 5), std::logic_error);
  EXPECT_THROW(resize_bilinear(Picture{}, 5, 5), std::logic_error);
}

}  // namespace
}  // namespace tributary

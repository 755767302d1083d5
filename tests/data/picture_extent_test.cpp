#include "tributary/data/picture_extent.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tributary/data/image/encode_png.h"

namespace tributary {
namespace {

TEST(PictureExtent, IsTheMedianOfThePicturesThatCanBeRead) {
  const test::TempDir folder;
  int number = 0;
  for (const auto& [width, height] : {std::pair(20, 10), std::pair(30, 40), std::pair(300, 200)}) {
    const auto png =
        tributary::encode_png(std::vector<uint8_t>(static_cast<size_t>(3 * width * height)), height, width);
    folder.write("photos/" + std::to_string(number++) + ".png", std::string(png.begin(), png.end()));
  }
  folder.write("photos/bad.png", "not a picture");
  const PictureExtent extent = typical_extent(folder / "photos", {});
  EXPECT_EQ(extent.width, 30);
  EXPECT_EQ(extent.height, 40);
  EXPECT_EQ(extent.longer(), 40);
  folder.write("broken/bad.png", "not a picture");
  EXPECT_EQ(typical_extent(folder / "broken", {}).longer(), 0);
}

}  // namespace
}  // namespace tributary

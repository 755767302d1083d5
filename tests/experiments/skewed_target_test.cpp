#include "tributary/experiments/skewed_target.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/data/digits/digits.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/image/encode_png.h"
#include "tributary/data/picture_source.h"

namespace tributary {
namespace {

TEST(SkewedTarget, OfAPackedFileIsOneWithTheSamePixels) {
  const test::TempDir folder;
  const LabelledImages digits = make_digits(DigitDomain::kPostal, 60, 1);
  write_idx_images(folder / "all-images.idx", digits.images);
  write_idx_labels(folder / "all-labels.idx", digits.labels);
  const std::string path = write_skewed(folder / "all-images.idx", Skew::kLongTail, 2, folder / "skewed/postal");
  EXPECT_EQ(path, folder / "skewed/postal-images.idx");
  const std::vector<int64_t> rows = skewed_rows(digits.labels, Skew::kLongTail, 2);
  const PictureSource written = open_labelled(path, "", {});
  ASSERT_EQ(written.size(), static_cast<int64_t>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(written.labels[i], digits.labels.values[static_cast<size_t>(rows[i])]);
    const Picture picture = written.decode(static_cast<int64_t>(i), {}, {}, {});
    EXPECT_TRUE(std::equal(picture.rgb.begin(), picture.rgb.end(), digits.images.picture(rows[i])));
  }
}

TEST(SkewedTarget, OfClassFoldersIsAListOfTheirFiles) {
  const test::TempDir folder;
  const std::vector<uint8_t> grey(3, 128);
  for (const char* name : {"bird", "cat"}) {
    make_folder(folder / "set/" + name);
    for (int i = 0; i < 6; ++i)
      write_file_atomically(folder / "set/" + name + "/" + std::to_string(i) + ".png", encode_png(grey, 1, 1));
  }
  const std::string path = write_skewed(folder / "set", Skew::kOneClass, 1, folder / "skewed/set");
  EXPECT_EQ(path, folder / "skewed/set.txt");
  const PictureSource written = open_labelled(path, "", {"bird", "cat"});
  ASSERT_EQ(written.size(), 8);
  for (int64_t i = 0; i < 8; ++i) {
    const std::string wanted = written.labels[static_cast<size_t>(i)] == 0 ? "/bird/" : "/cat/";
    EXPECT_THAT(written.path ? written.path(i) : written.names[static_cast<size_t>(i)], ::testing::HasSubstr(wanted));
  }
}

}  // namespace
}  // namespace tributary

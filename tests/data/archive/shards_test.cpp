// Loading pictures from tar shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "tests/support/pictures.h"
#include "tests/support/tar.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/data/archive/shard_index.h"
#include "tributary/data/archive/shard_paths.h"
#include "tributary/data/image/decode_ppm.h"
#include "tributary/data/listing.h"
#include "tributary/data/load.h"

namespace tributary {
namespace {

using test::tar_of;
using test::TempDir;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;
using Files = std::vector<std::pair<std::string, std::string>>;

LoadOptions small_pictures(int threads = 2) {
  LoadOptions options;
  options.preprocessing = {6, 6};
  options.threads = threads;
  return options;
}

// A PNG of one colour. Its red value identifies the picture.
std::string png_text(int red) {
  return test::text_of(test::encode_png(test::plain_picture(4 + red % 5, 7, static_cast<uint8_t>(red), 1, 2)));
}

std::vector<int> reds(const ImageSet& set) {
  std::vector<int> values;
  for (int64_t i = 0; i < set.size(); ++i) values.push_back(set.picture(i)[0]);
  return values;
}

std::vector<uint8_t> pixels_of(const ImageSet& set) {
  std::vector<int64_t> index(static_cast<size_t>(set.size()));
  std::iota(index.begin(), index.end(), 0);
  std::vector<uint8_t> pixels(static_cast<size_t>(set.size() * set.picture_bytes()));
  copy_pictures(set, index, pixels.data());
  return pixels;
}

template <typename Call>
void expect_shards_rejected(Call call, const Strings& parts) {
  const std::string message = test::message_of<InputError>(call);
  for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part));
}

TEST(Shards, AreSortedByName) {
  const TempDir dir;
  dir.write("s/b.tar", tar_of({{"x/2.png", png_text(2)}, {"x/1.PNG", png_text(1)}}));
  dir.write("s/a.tar",
            tar_of({{"./9.png", png_text(9)}, {"notes.txt", "x"}, {"9.seg.png", "a mask"}, {"._9.png", "x"}}));
  dir.write("s/readme.md", "not a shard");
  for (const int threads : {1, 4}) {
    const ImageSet set = load_images(dir / "s", small_pictures(threads));
    EXPECT_EQ(set.names, (Strings{dir / "s/a.tar/9.png", dir / "s/b.tar/x/2.png", dir / "s/b.tar/x/1.PNG"}));
    EXPECT_EQ(reds(set), (std::vector<int>{9, 2, 1}));
  }
}

TEST(Shards, CanBeOneFileOrARange) {
  const TempDir dir;
  for (int i = 8; i < 12; ++i) dir.write(fmt::format("s-{:03}.tar", i), tar_of({{"a.png", png_text(i)}}));
  EXPECT_EQ(reds(load_images(dir / "s-009.tar", small_pictures())), (std::vector<int>{9}));
  EXPECT_EQ(reds(load_images(dir / "s-{009..011}.tar", small_pictures())), (std::vector<int>{9, 10, 11}));
  EXPECT_EQ(shard_files(dir / "s-{008..10}.tar").size(), 3u) << "leading zeros of one number apply to both";
  expect_shards_rejected([&] { load_images(dir / "s-{009..013}.tar", small_pictures()); },
                         {dir / "s-012.tar does not exist"});
  expect_shards_rejected([&] { load_images(dir / "s-{011..009}.tar", small_pictures()); }, {"ascending range"});
  expect_shards_rejected([&] { load_images(dir / "s-{0..999999999}.tar", small_pictures()); },
                         {"at most 100000 files"});
  expect_shards_rejected([&] { load_images(dir / "s-{a..b}.tar", small_pictures()); }, {"does not exist"});
  EXPECT_EQ(kind_of_path(dir.write("renamed", tar_of({{"a.png", png_text(1)}}))), PathKind::kShards) << "by content";
}

TEST(Shards, IgnoreABackupAmongClassFolders) {
  const TempDir dir;
  dir.write("backup.tar", tar_of({{"a.png", png_text(1)}}));
  dir.write("mug/a.png", png_text(2));
  EXPECT_EQ(kind_of_path(dir.path()), PathKind::kFolder);
  EXPECT_EQ(reds(load_images(dir.path(), small_pictures())), (std::vector<int>{2}));
}

TEST(Shards, YieldTheSamePicturesAsAFolder) {
  const TempDir dir;
  Files files;
  for (int i = 0; i < 30; ++i) {
    const Picture picture = test::sample_picture(10 + i, 50 - i, static_cast<uint64_t>(i + 1));
    const std::string name = fmt::format("{:02}", i);
    const std::string bytes = test::text_of(i % 2 == 0 ? test::encode_jpeg(picture) : test::encode_png(picture));
    dir.write("folder/" + name + (i % 2 == 0 ? ".jpg" : ".png"), bytes);
    files.emplace_back(name + (i % 2 == 0 ? ".jpg" : ".png"), bytes);
  }
  dir.write("s/a.tar", tar_of({files.begin(), files.begin() + 13}));
  dir.write("s/b.tar", tar_of({files.begin() + 13, files.end()}));
  const ImageSet folder = load_images(dir / "folder", small_pictures());
  EXPECT_EQ(load_images(dir / "s", small_pictures()).pixels, folder.pixels);
  LoadOptions streamed = small_pictures(4);
  streamed.memory = 0;
  const ImageSet set = load_images(dir / "s", streamed);
  EXPECT_FALSE(set.in_memory());
  EXPECT_EQ(pixels_of(set), folder.pixels);
  EXPECT_EQ(pixels_of(subset(set, {29, 3, 14})), subset(folder, {29, 3, 14}).pixels);
}

TEST(Shards, CanContainRawPixels) {
  const TempDir dir;
  const Picture picture = test::sample_picture(6, 6);
  const std::string path = dir.write("a.tar", tar_of({{"a.ppm", test::text_of(encode_ppm(picture))}}));
  EXPECT_EQ(load_images(path, small_pictures()).pixels, picture.rgb);
  expect_shards_rejected(
      [&] {
        load_images(dir.write("b.tar", tar_of({{"a.png", test::text_of(encode_ppm(picture))}})), small_pictures());
      },
      {"b.tar/a.png", "not a JPEG, PNG, WebP, TIFF, BMP or GIF file"});
  dir.write("folder/a.ppm", encode_ppm(picture));
  expect_shards_rejected([&] { load_images(dir / "folder", small_pictures()); }, {"holds no pictures"});
}

TEST(Shards, PicturesOfOtherFormatsAreNamed) {
  const TempDir dir;
  const std::string path = dir.write(
      "a.tar", tar_of({{"1.png", png_text(1)}, {"2.heic", "data"}, {"1.seg.heic", "annotation"}, {"1.json", "{}"}}));
  LoadOptions lenient = small_pictures();
  lenient.max_bad_share = 1;
  std::vector<SkippedPicture> skipped;
  EXPECT_EQ(load_images(path, lenient, &skipped).size(), 1);
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_EQ(skipped[0].path, path + "/2.heic");
}

TEST(Shards, HaveLabelsByIndexAndByName) {
  const TempDir dir;
  const std::string numbered =
      dir.write("n.tar", tar_of({{"1.png", png_text(1)}, {"2.png", png_text(2)}, {"2.cls", " 0\n"}, {"1.cls", "2"}}));
  const LabelledImages set = load_labelled(numbered, small_pictures());
  EXPECT_EQ(set.labels.values, (std::vector<int64_t>{2, 0})) << "labels in any order";
  EXPECT_EQ(set.labels.classes, (Strings{"0", "1", "2"}));
  EXPECT_EQ(set.images.names, load_images(numbered, small_pictures()).names);
  EXPECT_EQ(load_labelled(numbered, small_pictures(), {"a", "b", "c", "d"}).labels.classes.size(), 4u);
  expect_shards_rejected(
      [&] {
        load_labelled(numbered, small_pictures(), {"a", "b"});
      },
      {"n.tar/1.png has label 2 but the model knows 2 classes"});

  const std::string named =
      dir.write("c.tar", tar_of({{"__classes__", "mug\nbike\n"}, {"1.png", png_text(1)}, {"1.cls", "0"}}));
  EXPECT_EQ(load_labelled(named, small_pictures()).labels.classes, (Strings{"mug", "bike"}));
  EXPECT_EQ(load_labelled(named, small_pictures(), {"bike", "mug"}).labels.values, (std::vector<int64_t>{1}))
      << "in the model's order";
  EXPECT_EQ(load_labelled(named, small_pictures(), {"Bike", "MUG"}).labels.values, (std::vector<int64_t>{1}));
  expect_shards_rejected(
      [&] {
        load_labelled(named, small_pictures(), {"bike", "pen"});
      },
      {"has 2 classes but the model knows 2 classes; missing: pen; unknown to the model: mug"});
  EXPECT_EQ(load_images(named, small_pictures()).size(), 1) << "class names are not a picture";
}

TEST(Shards, RejectInvalidLabels) {
  const TempDir dir;
  const std::string png = png_text(1);
  const struct {
    const char* what;
    Files files;
    const char* part;
  } cases[] = {
      {"letters", {{"1.png", png}, {"1.cls", "mug"}}, "1.cls holds 'mug' instead of a class index"},
      {"nothing", {{"1.png", png}, {"1.cls", "\n"}}, "1.cls holds ''"},
      {"negative", {{"1.png", png}, {"1.cls", "-1"}}, "1.cls holds '-1'"},
      {"control characters", {{"1.png", png}, {"1.cls", "\x1b[2J"}}, "holds '?[2J'"},
      {"long", {{"1.png", png}, {"1.cls", std::string(65, '1')}}, "1.cls has 65 bytes"},
      {"large", {{"1.png", png}, {"1.cls", "99999999999999999999"}}, "the limit is 1000000 classes"},
      {"missing", {{"1.png", png}, {"2.png", png}, {"1.cls", "0"}}, "2.png has no label"},
      {"twice", {{"1.png", png}, {"1.cls", "0"}, {"1.cls", "1"}}, "1.cls occurs twice"},
      {"beyond the names", {{"__classes__", "mug\n"}, {"1.png", png}, {"1.cls", "1"}}, "the shards name 1 classes"},
      {"a name twice", {{"__classes__", "mug\nmug\n"}, {"1.png", png}, {"1.cls", "0"}}, "line 2 of __classes__"},
      {"an empty name", {{"__classes__", "mug\n\npen"}, {"1.png", png}, {"1.cls", "0"}}, "line 2 of __classes__"},
      {"no names", {{"__classes__", ""}, {"1.png", png}, {"1.cls", "0"}}, "__classes__ is empty"},
      {"names twice", {{"__classes__", "a"}, {"__classes__", "a"}}, "__classes__ twice"},
  };
  for (const auto& [what, files, part] : cases) {
    SCOPED_TRACE(what);
    const std::string path = dir.write("bad.tar", tar_of(files));
    expect_shards_rejected([&] { load_labelled(path, small_pictures()); }, {path, part});
    if (files[0].second != png) continue;
    EXPECT_GE(load_images(path, small_pictures()).size(), 1) << "labels are ignored in adaptation";
  }
  dir.write("two/a.tar", tar_of({{"__classes__", "mug"}, {"1.png", png}, {"1.cls", "0"}}));
  dir.write("two/b.tar", tar_of({{"__classes__", "pen"}, {"1.png", png}, {"1.cls", "0"}}));
  expect_shards_rejected([&] { load_labelled(dir / "two", small_pictures()); },
                         {"a.tar", "b.tar", "have different classes"});
}

TEST(Shards, RejectDuplicateKeysAndMissingPictures) {
  const TempDir dir;
  for (const Files& files : {Files{{"1.png", png_text(1)}, {"1.jpg", "x"}},
                             Files{{"1.png", png_text(1)}, {"2.png", png_text(2)}, {"1.png", png_text(3)}}})
    expect_shards_rejected([&] { load_images(dir.write("a.tar", tar_of(files)), small_pictures()); },
                           {"a.tar: 1.", "is the second picture of its sample"});
  expect_shards_rejected(
      [&] {
        load_images(dir.write("a.tar", tar_of({{"1.txt", "x"}, {"noending", "x"}})), small_pictures());
      },
      {dir / "a.tar", "holds no pictures"});
  dir.write("s/a.tar", tar_of({{"1.png", png_text(1)}}));
  dir.write("s/b.tar", tar_of({{"1.png", png_text(2)}}));
  EXPECT_EQ(load_images(dir / "s", small_pictures()).size(), 2) << "keys are per shard";
}

TEST(Shards, SkipUnreadablePictures) {
  const TempDir dir;
  Files files;
  for (int i = 0; i < 20; ++i) files.emplace_back(fmt::format("{}.png", i), i == 7 ? "no picture" : png_text(i));
  const std::string path = dir.write("a.tar", tar_of(files));
  std::vector<SkippedPicture> bad;
  EXPECT_EQ(load_images(path, small_pictures(), &bad).size(), 19);
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].path, path + "/7.png");
}

TEST(Shards, DetectChangesDuringARun) {
  const TempDir dir;
  const std::string path = dir.write("a.tar", tar_of({{"1.png", png_text(1)}, {"2.png", png_text(2)}}));
  LoadOptions streamed = small_pictures();
  streamed.memory = 0;
  const ImageSet set = load_images(path, streamed);
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_THAT(test::message_of<WorkError>([&] { pixels_of(set); }), HasSubstr(path + " was changed"));
}

TEST(Shards, CanExceedTheLimitOfOpenFiles) {
  const TempDir dir;
  for (int i = 0; i < 230; ++i) dir.write(fmt::format("s/{:03}.tar", i), tar_of({{"a.png", png_text(i)}}));
  LoadOptions streamed = small_pictures(4);
  streamed.memory = 0;
  const ImageSet set = load_images(dir / "s", streamed);
  const auto open = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  EXPECT_LT(open, 150);
  EXPECT_TRUE(std::is_sorted(set.names.begin(), set.names.end())) << "independent of the folder's order";
  EXPECT_EQ(pixels_of(set), load_images(dir / "s", small_pictures()).pixels);
}

TEST(Ppm, RoundTrips) {
  const Picture picture = test::sample_picture(5, 9);
  const Picture again = decode_ppm(encode_ppm(picture), {});
  EXPECT_EQ(again.height, 5);
  EXPECT_EQ(again.width, 9);
  EXPECT_EQ(again.rgb, picture.rgb);
}

TEST(Ppm, RejectsOtherHeaders) {
  const std::string pixels(12, 'p');
  for (const std::string& bad :
       {std::string(), std::string("P6"), "P5\n2 2\n255\n" + pixels, "P6\n2 2\n65535\n" + pixels,
        "P6\n# me\n2 2\n255\n" + pixels, "P6\n2\n2\n255\n" + pixels, "P6\n-2 2\n255\n" + pixels,
        "P6\n2 3\n255\n" + pixels, "P6\n2 2\n255\n" + pixels + "x", "P6\n0 2\n255\n" + pixels,
        "P6\n9999999999 2\n255\n" + pixels, "P6\n99999999 99999999\n255\n" + pixels, std::string("P6\n2 2")}) {
    const std::span bytes(reinterpret_cast<const uint8_t*>(bad.data()), bad.size());
    EXPECT_THROW(decode_ppm(bytes, {}), PictureError) << bad;
  }
}

}  // namespace
}  // namespace tributary

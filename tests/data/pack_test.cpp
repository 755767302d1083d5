#include "tributary/data/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/support/pictures.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/data/archive/shard_index.h"
#include "tributary/data/image/decode.h"
#include "tributary/data/image/encode_jpeg.h"
#include "tributary/data/image/resize.h"
#include "tributary/data/load.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

// Writes class folders of JPEGs and PNGs; one picture is damaged.
void write_pictures(const TempDir& dir, int count = 24) {
  for (int i = 0; i < count; ++i) {
    const Picture picture = test::sample_picture(20 + i % 24, 44 - i % 24, static_cast<uint64_t>(i + 1));
    const std::string name = fmt::format("in/{}/IMG {:02}.v1", i % 2 == 0 ? "mug" : "bike", i);
    if (i == 5) {
      dir.write(name + ".png", "no picture");
    } else if (i % 3 == 0) {
      dir.write(name + ".png", test::encode_png(picture));
    } else {
      dir.write(name + ".jpg", test::encode_jpeg(picture));
    }
  }
}

PackedShards pack(const TempDir& dir, const std::string& out, const PackOptions& options, bool labelled = false) {
  const PictureSource source = labelled ? open_labelled(dir / "in", "", {}) : open_pictures(dir / "in", "");
  return pack_pictures(source, dir / "in", out, options);
}

LoadOptions twelve_by_twelve() {
  LoadOptions options;
  options.preprocessing = {12, 12};
  return options;
}

Strings names_in(const std::string& folder) {
  Strings names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Pack, PreservesPicturesAndLabels) {
  const TempDir dir;
  write_pictures(dir);
  const LabelledImages folder = load_labelled(dir / "in", twelve_by_twelve());
  for (const PackFormat format : {PackFormat::kJpeg, PackFormat::kRaw}) {
    PackOptions options;
    options.format = format;
    options.shard_bytes = 20'000;
    const std::string out = dir / (format == PackFormat::kRaw ? "out/raw" : "out/jpeg");
    const PackedShards packed = pack(dir, out, options, true);
    EXPECT_EQ(packed.pictures, 23);
    EXPECT_GT(packed.files.size(), 2u);
    ASSERT_EQ(packed.skipped.size(), 1u);
    EXPECT_EQ(packed.skipped[0].path, dir / "in/bike/IMG 05.v1.png");
    const LabelledImages set = load_labelled(out, twelve_by_twelve());
    EXPECT_EQ(set.images.pixels, folder.images.pixels);
    EXPECT_EQ(set.labels.values, folder.labels.values);
    EXPECT_EQ(set.labels.classes, (Strings{"bike", "mug"}));
    EXPECT_EQ(load_labelled(out, twelve_by_twelve(), {"mug", "bike"}).labels.values,
              load_labelled(dir / "in", twelve_by_twelve(), {"mug", "bike"}).labels.values);
  }
  EXPECT_EQ(fs::path(load_images(dir / "out/raw", twelve_by_twelve()).names[0]).filename(), "00000000-IMG_01_v1.ppm");
}

TEST(Pack, CopiesFilesThatNeedNoResizing) {
  const TempDir dir;
  dir.write("in/a.png", test::encode_png(test::sample_picture(20, 30)));
  dir.write("in/b.jpg", test::encode_jpeg(test::sample_picture(40, 30)));
  PackOptions options;
  options.size = 20;
  pack(dir, dir / "out", options);
  const ShardIndex index = index_shards(dir / "out", 1);
  ASSERT_EQ(index.pictures.size(), 2u);
  EXPECT_EQ(index.read(0), test::read_bytes(dir / "in/a.png"));
  const Picture resized = decode_picture(index.read(1));
  EXPECT_EQ(resized.width, 20);
  EXPECT_EQ(resized.height, 26) << "20 * 40 / 30, rounded down";
  const Picture expected = resize_bilinear(decode_picture(test::read_bytes(dir / "in/b.jpg")), 26, 20);
  EXPECT_EQ(index.read(1), encode_jpeg(expected, 90));
}

TEST(Pack, CopiesOtherFormatsAndNamesWhatItSkips) {
  const TempDir dir;
  const Picture picture = test::sample_picture(12, 12);
  dir.write("in/a.bmp", test::encode_bmp(picture));
  dir.write("in/clip.mp4", "data");
  const PackedShards packed = pack(dir, dir / "out", {});
  ASSERT_EQ(packed.skipped.size(), 1u);
  EXPECT_EQ(packed.skipped[0].path, dir / "in/clip.mp4");
  const ImageSet set = load_images(dir / "out", twelve_by_twelve());
  EXPECT_EQ(fs::path(set.names[0]).filename(), "00000000-a.bmp");
  EXPECT_EQ(set.pixels, picture.rgb);
}

TEST(Pack, PreservesThePixelsOfModelsThatKeepTheAspect) {
  const TempDir dir;
  write_pictures(dir);
  PackOptions options;
  options.size = 26;  // some are smaller
  options.format = PackFormat::kRaw;
  pack(dir, dir / "out", options);
  LoadOptions kept;
  kept.preprocessing = {20, 26, /*keep_aspect=*/true};
  EXPECT_EQ(load_images(dir / "out", kept).pixels, load_images(dir / "in", kept).pixels);
}

TEST(Pack, DoesNotDependOnTheNumberOfThreads) {
  const TempDir dir;
  write_pictures(dir, 60);
  PackOptions options;
  options.size = 16;
  options.shard_bytes = 30'000;
  for (const int threads : {1, 2, 7}) {
    options.threads = threads;
    pack(dir, dir / fmt::format("{}/out", threads), options);
  }
  const Strings names = names_in(dir / "1/out");
  EXPECT_GT(names.size(), 1u);
  EXPECT_EQ(names[0], "out-000000.tar");
  for (const char* other : {"2", "7"}) {
    EXPECT_EQ(names_in(dir / std::string(other) + "/out"), names);
    for (const std::string& name : names)
      EXPECT_EQ(test::read_bytes(dir / (std::string(other) + "/out/" + name)),
                test::read_bytes(dir / ("1/out/" + name)));
  }
}

TEST(Pack, PacksIdxAndShards) {
  const TempDir dir;
  dir.write("d-images.idx", std::vector<uint8_t>{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20, 30, 40});
  dir.write("d-labels.idx", std::vector<uint8_t>{0, 0, 8, 1, 0, 0, 0, 2, 1, 0});
  PackOptions options;
  options.format = PackFormat::kRaw;
  const std::string idx = dir / "d-images.idx";
  pack_pictures(open_labelled(idx, "", {}), idx, dir / "one", options);
  pack_pictures(open_labelled(dir / "one", "", {}), dir / "one", dir / "two", options);
  const LabelledImages expected = load_labelled(idx, twelve_by_twelve());
  for (const char* out : {"one", "two"}) {
    const LabelledImages set = load_labelled(dir / out, twelve_by_twelve(), {"nought", "one"});
    EXPECT_EQ(set.images.pixels, expected.images.pixels);
    EXPECT_EQ(set.labels.values, expected.labels.values) << "numbered classes fit a model with names";
  }
}

TEST(Pack, LeavesNothingAfterAnError) {
  const TempDir dir;
  write_pictures(dir);
  PackOptions strict;
  strict.max_bad_share = 0;
  strict.shard_bytes = 20'000;
  EXPECT_THAT(test::message_of<InputError>([&] { pack(dir, dir / "deep/er/out", strict); }),
              AllOf(HasSubstr("1 of 24 pictures"), HasSubstr("IMG 05.v1.png")));
  EXPECT_FALSE(fs::exists(dir / "deep"));
  dir.folder("empty");
  EXPECT_THROW(pack(dir, dir / "empty", strict), InputError);
  EXPECT_TRUE(fs::is_empty(dir / "empty"));

  PictureSource source = open_pictures(dir / "in", "");
  const auto read = source.read;
  source.read = [&](int64_t index) {
    if (index == 20) ::raise(SIGTERM);
    return read(index);
  };
  catch_interrupts();
  PackOptions options;
  options.shard_bytes = 10'000;
  options.threads = 1;
  EXPECT_THROW(pack_pictures(source, dir / "in", dir / "empty", options), Interrupted);
  forget_interrupt();
  EXPECT_TRUE(fs::is_empty(dir / "empty")) << "complete shards are removed, too";
}

TEST(Pack, RejectsFoldersThatAreNotEmpty) {
  const TempDir dir;
  write_pictures(dir);
  dir.write("full/notes.txt", "x");
  EXPECT_THAT(test::message_of<InputError>([&] { pack(dir, dir / "full", {}); }), HasSubstr("not an empty folder"));
  EXPECT_THAT(test::message_of<InputError>([&] { pack(dir, dir / "full/notes.txt", {}); }),
              HasSubstr("not an empty folder"));
  EXPECT_THAT(names_in(dir / "full"), ElementsAre("notes.txt"));
  dir.write("killed/.tributary-999999999-folder.tmp/killed-000000.tar", "half a shard");
  EXPECT_EQ(pack(dir, dir / "killed", {}).pictures, 23) << "leftovers of a killed process are removed";
  EXPECT_THAT(names_in(dir / "killed"), ElementsAre("killed-000000.tar"));
}

TEST(EncodeJpeg, ErrorDecreasesWithQuality) {
  Picture picture{32, 48, {}};
  for (int i = 0; i < 32 * 48; ++i) {
    const auto level = static_cast<uint8_t>(40 + 3 * (i % 48));
    picture.rgb.insert(picture.rgb.end(), {level, level, level});
  }
  const auto largest_error = [&](int quality) {
    const Picture again = decode_picture(encode_jpeg(picture, quality));
    EXPECT_EQ(again.height, 32);
    EXPECT_EQ(again.width, 48);
    int largest = 0;
    for (size_t i = 0; i < picture.rgb.size(); ++i)
      largest = std::max(largest, std::abs(again.rgb[i] - picture.rgb[i]));
    return largest;
  };
  EXPECT_LE(largest_error(95), 3);
  EXPECT_GT(largest_error(5), largest_error(95));
  EXPECT_THROW(tributary::encode_jpeg(Picture{1, 70000, std::vector<uint8_t>(210000)}, 90), PictureError)
      << "too wide for JPEG";
}

}  // namespace
}  // namespace tributary

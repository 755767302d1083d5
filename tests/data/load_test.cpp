#include "tributary/data/load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "tests/support/mat.h"
#include "tests/support/pictures.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/image/decode.h"
#include "tributary/data/image/resize.h"

namespace tributary {
namespace {

using test::encode_jpeg;
using test::encode_png;
using test::TempDir;
using Strings = std::vector<std::string>;

LoadOptions small(int threads = 2) {
  LoadOptions options;
  options.preprocessing = {6, 6};
  options.threads = threads;
  return options;
}

// A PNG of one colour. Its red value identifies the picture.
std::vector<uint8_t> png_of(int red) {
  return encode_png(test::plain_picture(4 + red % 5, 7, static_cast<uint8_t>(red), 1, 2));
}

int red(const ImageSet& set, int64_t index) {
  return set.picture(index)[0];
}

Strings below(const TempDir& dir, Strings names) {
  for (std::string& name : names) name = dir / name;
  return names;
}

void expect_parts(const std::string& message, const Strings& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << message << "\n  lacks: " << part;
}

template <typename Call>
void expect_rejected(Call call, const Strings& parts) {
  expect_parts(test::message_of<InputError>(call), parts);
}

TEST(LoadImages, ReadsFoldersRecursivelySortedByPath) {
  const TempDir dir;
  dir.write("b/2.png", png_of(2));
  dir.write("b-a/3.PNG", png_of(3));
  dir.write("a.png", png_of(1));
  dir.write("b/deep/er/9.png", png_of(9));
  dir.write("notes.txt", "not a picture");
  dir.write(".hidden.png", "not a picture");
  dir.write(".cache/x.png", "not a picture");
  dir.write("b/._2.png", "not a picture");
  dir.folder("empty");
  for (const int threads : {1, 3}) {
    std::vector<SkippedPicture> bad;
    const ImageSet set = load_images(dir.path(), small(threads), &bad);
    EXPECT_EQ(set.names, below(dir, {"a.png", "b/2.png", "b/deep/er/9.png", "b-a/3.PNG"}));
    EXPECT_TRUE(bad.empty());
    EXPECT_EQ(set.height, 6);
    EXPECT_EQ(set.width, 6);
    ASSERT_EQ(static_cast<int64_t>(set.pixels.size()), set.size() * set.picture_bytes());
    const int expected[] = {1, 2, 9, 3};
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(red(set, i), expected[i]);
  }
}

TEST(LoadImages, DecodesAndResizes) {
  const TempDir dir;
  const std::vector<uint8_t> jpeg = encode_jpeg(test::sample_picture(40, 30));
  dir.write("x.jpg", jpeg);
  EXPECT_EQ(load_images(dir.path(), small()).pixels, resize_bilinear(decode_picture(jpeg), 6, 6).rgb);
}

TEST(LoadImages, ReadsASinglePictureByContent) {
  const TempDir dir;
  for (const std::string& path : {dir.write("x.png", png_of(77)), dir.write("x", png_of(77))}) {
    const ImageSet set = load_images(path, small());
    EXPECT_EQ(set.names, Strings{path});
    EXPECT_EQ(red(set, 0), 77);
  }
}

TEST(LoadImages, ReadsListFiles) {
  const TempDir dir;
  dir.write("pictures/one.png", png_of(1));
  dir.write("pictures/two words.png", png_of(2));
  const std::string list = dir.write("list.txt", "pictures/two words.png 5\r\n#\r\npictures/one.png\r\n");
  const ImageSet set = load_images(list, small());
  EXPECT_EQ(set.names, (Strings{"pictures/two words.png", "pictures/one.png"}));
  EXPECT_EQ(red(set, 0), 2);
  EXPECT_EQ(red(set, 1), 1);
  LoadOptions rooted = small();
  rooted.root = dir / "pictures";
  EXPECT_EQ(load_images(dir.write("elsewhere/list", "one.png\n"), rooted).names, Strings{"one.png"});
}

TEST(LoadImages, FollowsLinksWithoutCycles) {
  const TempDir dir, elsewhere;
  elsewhere.write("x.png", png_of(5));
  dir.write("a/y.png", png_of(6));
  std::filesystem::create_directory_symlink(elsewhere.path(), dir / "linked");
  std::filesystem::create_directory_symlink(dir.path(), dir / "a/cycle");
  std::filesystem::create_symlink(dir / "nowhere", dir / "dangling.png");
  LoadOptions lenient = small();
  lenient.max_bad_share = 1;
  std::vector<SkippedPicture> bad;
  EXPECT_EQ(load_images(dir.path(), lenient, &bad).names, below(dir, {"a/y.png", "linked/x.png"}));
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].path, dir / "dangling.png");
  EXPECT_EQ(bad[0].reason, "a dangling link");
}

TEST(LoadImages, NamesFilesThatAreNotRead) {
  const TempDir dir;
  for (int i = 10; i < 30; ++i) dir.write(fmt::format("mug/{}.png", i), png_of(i));
  for (const char* document : {"README", "mug/10.json", "mug/Thumbs.db", "labels.csv", ".DS_Store", "mug/.hidden.heic"})
    dir.write(document, "not a picture");
  for (const char* other : {"mug/a.HEIC", "clip.MOV", "mug/IMG_0001", "mug/odd.xyz"}) dir.write(other, "data");
  std::filesystem::create_symlink(dir / "nowhere", dir / "mug/link.jpg");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"clip.MOV", "a video"},
      {"mug/IMG_0001", "a name without ending; rename it if it is a picture"},
      {"mug/a.HEIC", ".heic pictures cannot be read; convert them to JPEG or PNG"},
      {"mug/link.jpg", "a dangling link"},
      {"mug/odd.xyz", ".xyz is not the ending of a known picture format"}};
  const auto check = [&](const std::vector<SkippedPicture>& bad, const char* what) {
    ASSERT_EQ(bad.size(), expected.size()) << what;
    for (size_t i = 0; i < bad.size(); ++i) {
      EXPECT_EQ(bad[i].path, dir / expected[i].first) << what;
      EXPECT_EQ(bad[i].reason, expected[i].second) << what;
    }
  };
  std::vector<SkippedPicture> bad;
  EXPECT_EQ(load_images(dir.path(), small(), &bad).size(), 20);
  check(bad, "unlabelled");
  bad.clear();
  EXPECT_EQ(load_labelled(dir.path(), small(), {}, &bad).images.size(), 20);
  check(bad, "class folders");

  // Two of 22 pictures are unreadable; videos and unknown files are no pictures.
  LoadOptions strict = small();
  strict.max_bad_share = 0.09;
  expect_rejected([&] { load_images(dir.path(), strict); },
                  {"2 of 22 pictures", "or raise --max-skipped, first " + (dir / "mug/a.HEIC"), ".heic pictures"});
  const TempDir phone;
  phone.write("1.heic", "data");
  expect_rejected([&] { load_images(phone.path(), small()); },
                  {"holds no pictures (JPEG, PNG, WebP, TIFF, BMP or GIF) but 1 other file, first ", "1.heic (.heic "});
  expect_rejected([&] { load_images(phone / "1.heic", small()); }, {"1.heic: .heic pictures cannot be read; convert"});
}

// Two links per level: a million paths lead to one picture.
TEST(LoadImages, VisitsEveryFolderOnce) {
  const TempDir dir;
  std::string folder = dir.folder("tree");
  for (int level = 0; level < 20; ++level) {
    std::filesystem::create_directory(folder + "/0");
    std::filesystem::create_directory_symlink("0", folder + "/1");
    folder += "/0";
  }
  dir.write(std::filesystem::relative(folder, dir.path()).string() + "/a.png", png_of(1));
  EXPECT_EQ(load_images(dir / "tree", small()).size(), 1);
}

TEST(LoadImages, SkipsPicturesThatWouldGrowTooLarge) {
  const TempDir dir;
  dir.write("long.png", encode_png(test::plain_picture(1, 99, 1, 2, 3)));
  dir.write("square.png", png_of(1));
  LoadOptions options = small();
  options.preprocessing = {4096, 4096, /*keep_aspect=*/true};
  options.max_bad_share = 1;
  options.memory = 0;
  std::vector<SkippedPicture> skipped;
  EXPECT_EQ(load_images(dir.path(), options, &skipped).size(), 1);
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_NE(skipped[0].reason.find("too many once the shorter side"), std::string::npos) << skipped[0].reason;
}

TEST(LoadImages, IdentifiesItsPictures) {
  const TempDir dir;
  dir.write("a.png", png_of(1));
  dir.write("b.png", png_of(2));
  const uint64_t digest = load_images(dir.path(), small()).digest;
  EXPECT_EQ(load_images(dir.path(), small(1)).digest, digest);
  dir.write("b.png", encode_png(test::sample_picture(9, 9)));
  EXPECT_NE(load_images(dir.path(), small()).digest, digest) << "another size";
  dir.write("b.png", png_of(2));
  std::filesystem::rename(dir / "b.png", dir / "c.png");
  EXPECT_NE(load_images(dir.path(), small()).digest, digest) << "another name";
}

TEST(LoadImages, SkipsUnreadablePictures) {
  const TempDir dir;
  for (int i = 10; i < 30; ++i) dir.write(fmt::format("{}.png", i), png_of(i));
  std::vector<uint8_t> truncated = encode_jpeg(test::sample_picture(20, 20));
  truncated.resize(truncated.size() / 2);
  dir.write("00.jpg", truncated);
  dir.write("15.png", "not a picture");
  std::vector<SkippedPicture> bad;
  const ImageSet set = load_images(dir.path(), small(), &bad);
  ASSERT_EQ(bad.size(), 2u);
  EXPECT_EQ(bad[0].path, dir / "00.jpg");
  EXPECT_EQ(bad[0].reason, "truncated JPEG");
  EXPECT_EQ(bad[1].path, dir / "15.png");
  EXPECT_EQ(bad[1].reason, "not a JPEG, PNG, WebP, TIFF, BMP or GIF file");
  ASSERT_EQ(set.size(), 19);
  ASSERT_EQ(static_cast<int64_t>(set.pixels.size()), 19 * set.picture_bytes());
  for (int64_t i = 0; i < 19; ++i)
    EXPECT_EQ(set.names[static_cast<size_t>(i)], dir / fmt::format("{}.png", red(set, i)));
  EXPECT_EQ(load_images(dir.path(), small()).size(), 19) << "the list of skipped pictures is optional";
}

TEST(LoadImages, RejectsTooManyUnreadablePictures) {
  const TempDir dir;
  for (int i = 10; i < 18; ++i) dir.write(fmt::format("{}.png", i), png_of(i));
  dir.write("bad1.png", "");
  dir.write("bad2.png", "no picture");
  std::vector<SkippedPicture> bad;
  expect_rejected([&] { load_images(dir.path(), small(), &bad); },
                  {dir.path(), "2 of 10 pictures", "10 %", dir / "bad1.png", "empty file"});
  EXPECT_EQ(bad.size(), 2u);
  LoadOptions lenient = small();
  lenient.max_bad_share = 0.2;
  EXPECT_EQ(load_images(dir.path(), lenient).size(), 8);
}

TEST(LoadImages, RejectsSetsWithoutReadablePictures) {
  const TempDir dir;
  LoadOptions lenient = small();
  lenient.max_bad_share = 1;
  const std::string bad = dir.write("1.png", "x");
  expect_rejected([&] { load_images(bad, lenient); }, {bad, "not a JPEG, PNG, WebP, TIFF, BMP or GIF file"});
  expect_rejected([&] { load_images(dir.path(), lenient); }, {bad, "not a JPEG, PNG, WebP, TIFF, BMP or GIF file"});
  dir.write("2.png", "x");
  expect_rejected([&] { load_images(dir.path(), lenient); }, {dir.path(), "none of the 2", bad});
}

TEST(LoadImages, SkipsPicturesAboveThePixelLimit) {
  const TempDir dir;
  LoadOptions options = small();
  options.max_pixels = 20;
  expect_rejected([&] { load_images(dir.write("x.png", png_of(1)), options); },
                  {dir / "x.png", "limit of 2e-05 megapixels (--max-megapixels)"});
}

TEST(LoadImages, RejectsInvalidPaths) {
  const TempDir dir;
  const struct {
    std::string path;
    const char* part;
  } cases[] = {
      {dir / "missing", "does not exist"},
      {dir.folder("empty"), "holds no pictures"},
      {dir.write("texts/a.txt", "x").substr(0, dir.path().size() + 6), "holds no pictures"},
      {dir.write("empty.txt", ""), "lists no pictures"},
      {dir.write("program", std::string("\x7f"
                                        "ELF\0\0\0",
                                        7)),
       "or a list of pictures"},
      {dir.write("archive.tar.gz", "not even gzip"), "not an IDX file"},
      {dir.write("wrong.idx", "not IDX"), "not an IDX file"},
      {"/dev/null", "neither a file nor a folder"},
  };
  for (const auto& [path, part] : cases) {
    expect_rejected([&] { load_images(path, small()); }, {path, part});
    expect_rejected([&] { load_labelled(path, small()); },
                    {path, path == dir / "texts" || path == dir / "empty" ? "no class folders" : part});
  }
}

TEST(LoadImages, ReadsGreyAndRgbIdx) {
  const TempDir dir;
  const std::vector<uint8_t> grey = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20, 30, 40};
  LoadOptions options = small();
  options.preprocessing = {2, 2};
  for (const std::string& path : {dir.write("a-images.idx", grey), dir.write("train-images-idx3-ubyte", grey)}) {
    const ImageSet set = load_images(path, options);
    EXPECT_EQ(set.names, (Strings{path + "[0]", path + "[1]"}));
    EXPECT_EQ(set.pixels, (std::vector<uint8_t>{10, 10, 10, 20, 20, 20, 10, 10, 10, 20, 20, 20,  //
                                                30, 30, 30, 40, 40, 40, 30, 30, 30, 40, 40, 40}));
  }
  ImageSet colours = test::image_set(7, 9, {"p", "q"}, test::sample_picture(7, 9, 1).rgb);
  const Picture second = test::sample_picture(7, 9, 2);
  colours.pixels.insert(colours.pixels.end(), second.rgb.begin(), second.rgb.end());
  write_idx_images(dir / "rgb-images.idx", colours);
  const ImageSet set = load_images(dir / "rgb-images.idx", small());
  EXPECT_EQ(std::vector<uint8_t>(set.picture(1), set.picture(1) + set.picture_bytes()),
            resize_bilinear(second, 6, 6).rgb);
}

TEST(LoadLabelled, UsesFolderNamesAsClasses) {
  const TempDir dir;
  dir.write("mug/1.png", png_of(1));
  dir.write("bike/2.png", png_of(2));
  dir.write("bike/deep/3.png", png_of(3));
  dir.write("bike-rack/4.png", png_of(4));
  dir.write(".git/x.png", "hidden");
  dir.write("readme.txt", "not a class");
  const LabelledImages set = load_labelled(dir.path(), small());
  EXPECT_EQ(set.labels.classes, (Strings{"bike", "bike-rack", "mug"}));
  EXPECT_EQ(set.labels.values, (std::vector<int64_t>{0, 0, 1, 2}));
  EXPECT_EQ(set.images.names, below(dir, {"bike/2.png", "bike/deep/3.png", "bike-rack/4.png", "mug/1.png"}));
  EXPECT_EQ(set.images.names, load_images(dir.path(), small()).names) << "labels line up with predictions";
}

TEST(LoadLabelled, UsesTheClassOrderOfTheModel) {
  const TempDir dir;
  dir.write("mug/1.png", png_of(1));
  dir.write("bike/2.png", png_of(2));
  dir.folder("pen");  // a class of the model may have no pictures here
  const LabelledImages set = load_labelled(dir.path(), small(), {"mug", "pen", "bike"});
  EXPECT_EQ(set.labels.classes, (Strings{"mug", "pen", "bike"}));
  EXPECT_EQ(set.labels.values, (std::vector<int64_t>{2, 0}));
}

TEST(LoadLabelled, MatchesClassFoldersWithoutCase) {
  const TempDir dir;
  dir.write("Mug/1.png", png_of(1));
  dir.write("bike/2.png", png_of(2));
  const LabelledImages set = load_labelled(dir.path(), small(), {"mug", "Bike"});
  EXPECT_EQ(set.labels.classes, (Strings{"mug", "Bike"})) << "spelled as the model does";
  EXPECT_EQ(set.labels.values, (std::vector<int64_t>{0, 1}));
  dir.write("mug/3.png", png_of(3));
  expect_rejected([&] { load_labelled(dir.path(), small(), {"mug", "bike"}); }, {"unknown to the model: Mug"});
}

TEST(LoadLabelled, RejectsClassFoldersThatDoNotMatchTheModel) {
  const TempDir dir;
  dir.write("mug/1.png", png_of(1));
  dir.write("bike/2.png", png_of(2));
  expect_rejected(
      [&] {
        load_labelled(dir.path(), small(), {"bike", "mug", "pen"});
      },
      {dir.path() +
       " has 2 class folders but the model knows 3 classes; missing: pen; add an empty class folder for each"});
  expect_rejected([&] { load_labelled(dir.path(), small(), {"bike"}); },
                  {"2 class folders but the model knows 1 class;", "unknown to the model: mug"});
  expect_rejected(
      [&] {
        load_labelled(dir.path(), small(), {"0", "1"});
      },
      {"has the class folders bike, mug, but the model's classes are only numbered; name them with"});
  Strings many = {"a", "b", "c", "d", "e", "f", "g"};
  expect_rejected([&] { load_labelled(dir.path(), small(), many); }, {"missing: a, b, c, d, e and 2 more"});
}

TEST(LoadLabelled, RejectsMisplacedPictures) {
  const TempDir dir;
  dir.write("mug/1.png", png_of(1));
  dir.folder("empty");
  expect_rejected([&] { load_labelled(dir.path(), small()); }, {dir / "empty", "holds no pictures"});
  dir.write("empty/2.png", png_of(2));
  dir.write("loose.png", png_of(3));
  expect_rejected([&] { load_labelled(dir.path(), small()); }, {dir / "loose.png", "outside of any class folder"});
  expect_rejected([&] { load_labelled(dir / "mug", small()); }, {dir / "mug", "outside of any class folder"});
  expect_rejected([&] { load_labelled(dir / "loose.png", small()); }, {dir / "loose.png", "single picture"});
}

TEST(LoadLabelled, KeepsLabelsAlignedWhenPicturesAreSkipped) {
  const TempDir dir;
  std::string text;
  std::map<std::string, int64_t> truth;
  for (int i = 0; i < 40; ++i) {
    const std::string name = fmt::format("{:02}.png", i);
    if (i % 11 == 0) {
      dir.write(name, "bad");
    } else {
      dir.write(name, png_of(i));
    }
    truth[name] = i % 7;
    text += fmt::format("{} {}\n", name, i % 7);
  }
  std::vector<SkippedPicture> bad;
  const LabelledImages set = load_labelled(dir.write("list.txt", text), small(3), {}, &bad);
  EXPECT_EQ(bad.size(), 4u);
  ASSERT_EQ(set.images.size(), 36);
  ASSERT_EQ(set.labels.values.size(), 36u);
  for (int64_t i = 0; i < 36; ++i) {
    const std::string& name = set.images.names[static_cast<size_t>(i)];
    EXPECT_EQ(set.labels.values[static_cast<size_t>(i)], truth[name]);
    EXPECT_EQ(red(set.images, i), std::stoi(name));
  }
}

TEST(LoadLabelled, ReadsAnIdxPair) {
  const TempDir dir;
  const ImageSet images = test::image_set(1, 1, {"a", "b", "c"}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  write_idx_images(dir / "d-images.idx", images);
  expect_rejected([&] { load_labelled(dir / "d-images.idx", small()); }, {dir / "d-images.idx", dir / "d-labels.idx"});
  write_idx_labels(dir / "d-labels.idx", {{}, {2, 0, 1}});
  const LabelledImages set = load_labelled(dir / "d-images.idx", small());
  EXPECT_EQ(set.labels.values, (std::vector<int64_t>{2, 0, 1}));
  EXPECT_EQ(set.labels.classes, (Strings{"0", "1", "2"}));
  EXPECT_EQ(set.images.size(), 3);
  EXPECT_EQ(load_labelled(dir / "d-images.idx", small(), {"x", "y", "z", "w"}).labels.classes.size(), 4u);
  expect_rejected(
      [&] {
        load_labelled(dir / "d-images.idx", small(), {"x", "y"});
      },
      {dir / "d-labels.idx", "label 2", "knows 2 classes"});
  write_idx_labels(dir / "d-labels.idx", {{}, {2, 0}});
  expect_rejected([&] { load_labelled(dir / "d-images.idx", small()); },
                  {dir / "d-labels.idx", "2 labels", "3 pictures"});
}

TEST(LoadLabelled, ReadsMatFiles) {
  const TempDir dir;
  const std::string path = dir.write(
      "syn_number.mat", test::mat_of({test::mat_bytes_array("train_data", {2, 1, 1, 3}, {10, 40, 20, 50, 30, 60}),
                                      test::mat_bytes_array("train_label", {2, 1}, {0, 2})}));
  const LabelledImages set = load_labelled(path + ":train", small());
  EXPECT_EQ(set.images.names, (Strings{path + ":train[0]", path + ":train[1]"}));
  EXPECT_EQ(set.labels.classes, (Strings{"0", "1", "2"}));
  EXPECT_EQ(set.labels.values, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(red(set.images, 0), 10);
  EXPECT_EQ(red(set.images, 1), 40);
  EXPECT_EQ(load_images(path + ":train", small()).pixels, set.images.pixels);
  expect_rejected([&] { load_images(path, small()); }, {path, "name one of them"});
  expect_rejected([&] { load_images(path + ":valid", small()); }, {path + ":valid", "does not exist"});
  expect_rejected([&] { load_images(dir / "none.mat:test", small()); }, {dir / "none.mat:test", "does not exist"});
  expect_rejected([&] { load_labelled(path + ":train", small(), {"a", "b"}); }, {path, "label 2", "knows 2 classes"});
}

TEST(LoadLabelled, ReadsUspsText) {
  const TempDir dir;
  std::string line = "7.0000";
  for (int i = 0; i < 256; ++i) line += i < 16 ? " 1.000" : " -1.000";
  LoadOptions options = small();
  options.preprocessing = {16, 16};
  const LabelledImages set = load_labelled(dir.write("zip.train", line + "\n" + line + "\n"), options);
  EXPECT_EQ(set.labels.values, (std::vector<int64_t>{7, 7}));
  EXPECT_EQ(set.images.picture(1)[3 * 15], 255) << "the last pixel of the first row";
  EXPECT_EQ(set.images.picture(1)[3 * 16], 0);
  EXPECT_EQ(load_images(dir.write("digits.txt", line), options).size(), 1) << "detected by content";
}

TEST(Load, DoesNotDependOnTheNumberOfThreads) {
  const TempDir dir;
  for (int i = 0; i < 60; ++i)
    dir.write(fmt::format("{}/{}.jpg", i % 3, i), encode_jpeg(test::sample_picture(10 + i, 50 - i / 2, 9)));
  const LabelledImages one = load_labelled(dir.path(), small(1));
  const LabelledImages many = load_labelled(dir.path(), small(8));
  EXPECT_EQ(one.images.names, many.images.names);
  EXPECT_EQ(one.images.pixels, many.images.pixels);
  EXPECT_EQ(one.labels.values, many.labels.values);
}

std::vector<uint8_t> all_pixels(const ImageSet& set) {
  std::vector<int64_t> index(static_cast<size_t>(set.size()));
  std::iota(index.begin(), index.end(), 0);
  std::vector<uint8_t> pixels(static_cast<size_t>(set.size() * set.picture_bytes()));
  copy_pictures(set, index, pixels.data());
  return pixels;
}

TEST(LargeSets, AreDecodedOnDemand) {
  const TempDir dir;
  for (int i = 0; i < 20; ++i)
    dir.write(fmt::format("{}.png", 10 + i), i == 4 ? std::vector<uint8_t>{1, 2, 3} : png_of(i));
  LoadOptions streamed = small();
  streamed.memory = 19 * 6 * 6 * 3;  // one picture too few
  std::vector<SkippedPicture> bad, bad_again;
  const ImageSet in_memory = load_images(dir.path(), small(), &bad);
  const ImageSet set = load_images(dir.path(), streamed, &bad_again);
  EXPECT_TRUE(in_memory.in_memory());
  EXPECT_FALSE(set.in_memory());
  EXPECT_TRUE(set.pixels.empty());
  EXPECT_EQ(set.names, in_memory.names);
  EXPECT_EQ(bad_again.size(), 1u);
  EXPECT_EQ(all_pixels(set), in_memory.pixels);
  EXPECT_EQ(all_pixels(subset(set, {3, 17, 0})), subset(in_memory, {3, 17, 0}).pixels);
  streamed.memory = 20 * 6 * 6 * 3;
  EXPECT_TRUE(load_images(dir.path(), streamed).in_memory());
}

TEST(LargeSets, CanBeIdxFiles) {
  const TempDir dir;
  write_idx_images(dir / "d-images.idx", test::image_set(1, 1, {"a", "b", "c"}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  LoadOptions streamed = small();
  streamed.memory = 0;
  const ImageSet set = load_images(dir / "d-images.idx", streamed);
  EXPECT_FALSE(set.in_memory());
  EXPECT_EQ(all_pixels(set), load_images(dir / "d-images.idx", small()).pixels);
}

TEST(LargeSets, NameTheMissingPicture) {
  const TempDir dir;
  for (int i = 0; i < 3; ++i) dir.write(fmt::format("{}.png", i), png_of(i));
  LoadOptions streamed = small();
  streamed.memory = 0;
  const ImageSet set = load_images(dir.path(), streamed);
  std::filesystem::remove(dir / "1.png");
  expect_parts(test::message_of<WorkError>([&] { all_pixels(set); }), {dir / "1.png", "can no longer be read"});
}

}  // namespace
}  // namespace tributary

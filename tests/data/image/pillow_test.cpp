// Compares decoding and resizing with Pillow, byte for byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tests/support/pictures.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tributary/data/image/decode.h"
#include "tributary/data/image/resize.h"

namespace tributary {
namespace {

using test::JpegKind;
using test::TempDir;

constexpr const char* kScript = "tests/data/image/pillow_reference.py";

// Removes the first picture from `bytes`, in the format of the script.
Picture take_picture(std::span<const uint8_t>& bytes) {
  int32_t size[2] = {};
  std::memcpy(size, bytes.data(), sizeof size);
  Picture picture{size[0], size[1], {}};
  const auto length = static_cast<size_t>(picture.row_bytes() * picture.height);
  bytes = bytes.subspan(sizeof size);
  picture.rgb.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
  bytes = bytes.subspan(length);
  return picture;
}

void expect_equal(const Picture& ours, const Picture& theirs, const std::string& what) {
  ASSERT_EQ(ours.height, theirs.height) << what;
  ASSERT_EQ(ours.width, theirs.width) << what;
  const auto [mine, other] = std::mismatch(ours.rgb.begin(), ours.rgb.end(), theirs.rgb.begin(), theirs.rgb.end());
  EXPECT_TRUE(mine == ours.rgb.end() && other == theirs.rgb.end())
      << what << " differs at byte " << mine - ours.rgb.begin() << ": " << int{*mine} << ", Pillow " << int{*other};
}

void expect_matches_pillow(const std::string& path) {
  const std::vector<uint8_t> bytes = test::read_bytes(path + ".rgb");
  std::span<const uint8_t> rest = bytes;
  expect_equal(decode_picture(test::read_bytes(path)), take_picture(rest), path);
}

// Compares all pictures of a folder and returns their number.
int expect_folder_matches_pillow(const std::string& folder) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!looks_like_picture_name(entry.path().string())) continue;
    expect_matches_pillow(entry.path().string());
    ++files;
  }
  return files;
}

class PillowParity : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto found = test::python_with("PIL, numpy");
    if (!found) GTEST_SKIP() << "skipped: no python3-pil";
    python_ = *found;
  }
  std::string python_;
  TempDir dir_;
};

TEST_F(PillowParity, Resize) {
  // Later versions round a few extreme enlargements differently.
  const auto python = test::python_with("numpy, PIL; assert PIL.__version__.startswith('9.')");
  if (!python) GTEST_SKIP() << "skipped: no python3-pil of version 9, which we match bit for bit";
  ASSERT_TRUE(test::run_python(*python, kScript, {"resize", dir_ / "resize.bin"}));
  const std::vector<uint8_t> bytes = test::read_bytes(dir_ / "resize.bin");
  int pairs = 0;
  for (std::span<const uint8_t> rest = bytes; !rest.empty(); ++pairs) {
    const Picture before = take_picture(rest);
    for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kBicubic}) {
      const Picture after = take_picture(rest);
      expect_equal(resize_picture(before, after.height, after.width, interpolation), after,
                   fmt::format("{} x {} to {} x {}{}", before.width, before.height, after.width, after.height,
                               interpolation == Interpolation::kBicubic ? ", bicubic" : ""));
    }
  }
  EXPECT_GE(pairs, 40);
}

TEST_F(PillowParity, DecodeJpegAndPng) {
  ASSERT_TRUE(test::run_python(python_, kScript, {"decode", dir_.path()}));
  EXPECT_GE(expect_folder_matches_pillow(dir_.path()), 146);
}

TEST_F(PillowParity, DecodeWebp) {
#ifndef TRIBUTARY_WEBP
  GTEST_SKIP() << "skipped: built without libwebp";
#endif
  const auto python = test::python_with("numpy, PIL.features; assert PIL.features.check('webp')");
  if (!python) GTEST_SKIP() << "skipped: no python3-pil that writes WebP";
  ASSERT_TRUE(test::run_python(*python, kScript, {"webp", dir_.path()}));
  EXPECT_GE(expect_folder_matches_pillow(dir_.path()), 100);
}

TEST_F(PillowParity, DecodeBmp) {
  ASSERT_TRUE(test::run_python(python_, kScript, {"bmp", dir_.path()}));
  EXPECT_EQ(expect_folder_matches_pillow(dir_.path()), 75);
}

TEST_F(PillowParity, DecodeGif) {
#ifndef TRIBUTARY_GIF
  GTEST_SKIP() << "skipped: built without giflib";
#endif
  ASSERT_TRUE(test::run_python(python_, kScript, {"gif", dir_.path()}));
  EXPECT_EQ(expect_folder_matches_pillow(dir_.path()), 33);
}

TEST_F(PillowParity, DecodeTiff) {
#ifndef TRIBUTARY_TIFF
  GTEST_SKIP() << "skipped: built without libtiff";
#endif
  const auto python = test::python_with("numpy, PIL.features; assert PIL.features.check('libtiff')");
  if (!python) GTEST_SKIP() << "skipped: no python3-pil that writes compressed TIFF";
  ASSERT_TRUE(test::run_python(*python, kScript, {"tiff", dir_.path()}));
  EXPECT_EQ(expect_folder_matches_pillow(dir_.path()), 125);
}

TEST_F(PillowParity, DecodeFilesThatPillowCannotWrite) {
  const Picture picture = test::sample_picture(37, 52);
  std::vector<std::string> paths = {
      dir_.write("ycck.jpg", test::encode_jpeg(picture, JpegKind::kYcck)),
      dir_.write("cmyk.jpg", test::encode_jpeg(picture, JpegKind::kCmyk)),
      dir_.write("cmyk_plain.jpg", test::encode_jpeg(picture, JpegKind::kCmykWithoutAdobe)),
      dir_.write("interlaced.png", test::encode_png(picture, true)),
  };
  for (int orientation = 0; orientation <= 9; ++orientation) {
    for (const bool big_endian : {false, true}) {
      const auto payload = test::exif_payload(orientation, big_endian);
      paths.push_back(dir_.write(fmt::format("exif{}{}.jpg", orientation, big_endian ? "MM" : "II"),
                                 test::with_app1(test::encode_jpeg(picture), payload)));
    }
  }
  std::vector<std::string> arguments = {"convert"};
  arguments.insert(arguments.end(), paths.begin(), paths.end());
  ASSERT_TRUE(test::run_python(python_, kScript, arguments));
  for (const std::string& path : paths) expect_matches_pillow(path);
}

}  // namespace
}  // namespace tributary

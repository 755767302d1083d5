#include "tributary/data/digits/mat_digits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/mat.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using namespace test;  // the builders of tests/support/mat.h
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MatDigits, ReadsFilesOfSciPy) {
  const auto python = python_with("scipy.io");
  if (!python) GTEST_SKIP() << "skipped: no python3-scipy";
  const TempDir dir;
  ASSERT_TRUE(run_python(*python, "tests/data/digits/mat_reference.py", {dir.path()}));
  const struct {
    const char* form;
    const char* part;
    int count, height, width, channels;
  } cases[] = {
      {"svhn", "", 11, 6, 4, 3},        {"synth", "", 11, 6, 4, 3},         {"mnist", "train", 13, 5, 7, 1},
      {"mnist", "test", 5, 5, 7, 1},    {"mnist_28", "train", 13, 5, 7, 1}, {"mnist_28", "test", 5, 5, 7, 1},
      {"mnistm", "train", 13, 5, 7, 3}, {"mnistm", "test", 5, 5, 7, 3},     {"syn", "train", 13, 5, 7, 3},
      {"syn", "test", 5, 5, 7, 3},      {"usps", "train", 13, 5, 7, 1},     {"usps", "test", 5, 5, 7, 1},
  };
  for (const auto& [form, part, count, height, width, channels] : cases) {
    const std::string name = dir / form, named = *part == '\0' ? "" : std::string(":") + part;
    const std::string expected = *part == '\0' ? name : name + "." + part;
    for (const std::string& path : {name + ".mat" + named, name + ".deflated.mat" + named}) {
      SCOPED_TRACE(path);
      const PackedImages images = read_mat_images(path);
      EXPECT_EQ(images.count, count);
      EXPECT_EQ(images.height, height);
      EXPECT_EQ(images.width, width);
      EXPECT_EQ(images.channels, channels);
      EXPECT_EQ(images.bytes, read_bytes(expected + ".images"));
      EXPECT_EQ(read_mat_labels(path), read_bytes(expected + ".labels"));
    }
  }
}

// SVHN's layout: n RGB pictures of 2 x 1.
MatBytes svhn(int32_t count, const MatBytes& labels) {
  return mat_header() + mat_bytes_array("X", {2, 1, 3, count}, mat_sevens(static_cast<size_t>(6 * count))) +
         mat_bytes_array("y", {static_cast<int32_t>(labels.size()), 1}, labels);
}

TEST(MatDigits, ConvertsColumnMajorToRowMajor) {
  const TempDir dir;
  const std::string path = dir.write("a.mat", svhn(2, {10, 3}));
  // 0 and 7 are the reds of the two rows, 14 and 21 the greens, 28 and 35 the blues.
  EXPECT_THAT(read_mat_images(path).bytes, ElementsAre(0, 14, 28, 7, 21, 35, 42, 56, 70, 49, 63, 77));
  EXPECT_THAT(read_mat_labels(path), ElementsAre(0, 3));
}

TEST(MatDigits, MapsTenToZeroOnlyWithoutZeros) {
  const TempDir dir;
  EXPECT_THAT(read_mat_labels(dir.write("svhn.mat", svhn(3, {1, 10, 9}))), ElementsAre(1, 0, 9));
  EXPECT_THAT(read_mat_labels(dir.write("synth.mat", svhn(3, {0, 4, 9}))), ElementsAre(0, 4, 9));
  EXPECT_THAT(read_mat_labels(dir.write("eleven.mat", svhn(3, {0, 10, 9}))), ElementsAre(0, 10, 9));
  EXPECT_THAT(read_mat_labels(dir.write("more.mat", svhn(3, {1, 10, 11}))), ElementsAre(1, 10, 11));
}

TEST(MatDigits, ReadsASinglePictureWithoutTheLastDimension) {
  const TempDir dir;
  const MatBytes one = mat_bytes_array("X", {1, 1, 3}, {1, 2, 3});
  const PackedImages images = read_mat_images(dir.write("one.mat", mat_header() + one));
  EXPECT_EQ(images.count, 1);
  EXPECT_THAT(images.bytes, ElementsAre(1, 2, 3));
}

TEST(MatDigits, ScalesFractionsTo255) {
  const TempDir dir;
  const auto bytes_of = [&dir](const MatBytes& array) {
    return read_mat_images(dir.write("a.mat", mat_header() + array) + ":train").bytes;
  };
  EXPECT_THAT(bytes_of(mat_double_array("train", {1, 1, 3}, {0, 0.5, 1})), ElementsAre(0, 128, 255));
  EXPECT_THAT(bytes_of(mat_double_array("train", {1, 1, 3}, {0, 1.4, 254.6})), ElementsAre(0, 1, 255));
  EXPECT_THAT(bytes_of(mat_bytes_array("train", {1, 1, 3}, {0, 1, 1})), ElementsAre(0, 1, 1)) << "integers";
}

TEST(MatPathOf, SplitsFileAndPart) {
  EXPECT_EQ(mat_path("a/b.mat:test").file, "a/b.mat");
  EXPECT_EQ(mat_path("a/b.mat:test").part, "test");
  EXPECT_EQ(mat_path("b.mat:train").part, "train");
  EXPECT_EQ(mat_path("b.mat").file, "b.mat");
  EXPECT_EQ(mat_path("b.mat:valid").file, "b.mat:valid");
  EXPECT_TRUE(is_mat_path("b.mat:train"));
  EXPECT_FALSE(is_mat_path("b.idx:train"));
  EXPECT_FALSE(is_mat_path("b.mat:valid"));
}

TEST(MatDigits, RejectsInvalidFiles) {
  const TempDir dir;
  const MatBytes picture = mat_bytes_array("train", {1, 2, 2}, {1, 2, 3, 4});
  const MatBytes X = mat_bytes_array("X", {2, 1, 3, 2}, mat_sevens(12));
  const auto labels = [&picture](const std::vector<int32_t>& sizes, const std::vector<double>& values) {
    return picture + mat_double_array("label_train", sizes, values);
  };
  const auto pixels = [](double value) { return mat_double_array("train", {1, 1, 2}, {value, 2}); };
  const auto cell = [](const MatBytes& content) { return mat_matrix(kMatCell, "dataset", {2, 2}, content); };
  const struct {
    const char* what;
    MatBytes content;
    const char* part;
    const char* message;
  } cases[] = {
      {"nothing", {}, "", "holds no arrays"},
      {"others", mat_bytes_array("trX", {1, 1}, {1}) + mat_bytes_array("trY", {1, 1}, {1}), "",
       "holds trX, trY, an unknown layout"},
      {"no part", picture, "", "a.mat:train or"},
      {"a part of SVHN", X, ":test", "has no parts; leave out :test"},
      {"no test pictures", picture, ":test", "no array test and so no pictures"},
      {"no labels", picture, ":train", "no array label_train and so no labels"},
      {"no labels of SVHN", X, "", "no array y and so no labels"},
      {"too few labels", X + mat_bytes_array("y", {1, 1}, {1}), "", "2 pictures but labels of the size [1, 1]"},
      {"no pictures", mat_bytes_array("X", {2, 1, 3, 0}, {}), "",
       "[2, 1, 3, 0]; pictures must be [height, width, 3, n]"},
      {"two channels", mat_bytes_array("X", {2, 1, 2, 1}, mat_sevens(4)), "", "[2, 1, 2, 1]; pictures must be"},
      {"five sizes", mat_bytes_array("X", {1, 1, 3, 1, 2}, mat_sevens(6)), "", "[1, 1, 3, 1, 2]; pictures must be"},
      {"grey", mat_bytes_array("X", {2, 2, 1, 1}, mat_sevens(4)), "", "[2, 2, 1, 1]; pictures must be"},
      {"wide", mat_bytes_array("X", {1, 70000, 3}, MatBytes(210000)), "", "[1, 70000, 3]; pictures must be"},
      {"flat", mat_bytes_array("train", {1, 4}, mat_sevens(4)), ":train",
       "[1, 4]; pictures must be [n, height, width]"},
      {"text", mat_matrix(kMatCell, "X", {1, 1}, {}), "", "not an array of real numbers"},
      {"a dark pixel", pixels(-0.5), ":train", "pixel of -0.5"},
      {"a bright pixel", pixels(256), ":train", "pixel of 256"},
      {"no pixel", pixels(NAN), ":train", "pixel of nan"},
      {"a broken label", labels({1, 1}, {0.5}), ":train", "label 0.5"},
      {"a negative label", labels({1, 1}, {-1}), ":train", "label -1"},
      {"a large label", labels({1, 1}, {256}), ":train", "label 256"},
      {"no label", labels({1, 1}, {NAN}), ":train", "label nan"},
      {"all zeros", labels({1, 3}, {0, 0, 0}), ":train", "row 1 of its labels is all zeros"},
      {"two ones", labels({1, 3}, {1, 0, 1}), ":train", "row 1 of its labels is not one-hot"},
      {"a share", labels({1, 3}, {0, 0.5, 0.5}), ":train", "row 1 of its labels is not one-hot"},
      {"rows too few", labels({2, 3}, {0, 0, 0, 1, 1, 1}), ":train", "1 pictures but labels of the size [2, 3]"},
      {"no cells", cell({}), ":train", "ends early"},
      {"no cell array", mat_bytes_array("dataset", {1, 1}, {1}), ":test", "not a cell array of 2 or more"},
      {"empty cells", cell(mat_tag(14, 0) + mat_tag(14, 0) + mat_tag(14, 0) + mat_tag(14, 0)), ":train", "[0, 0]"},
  };
  for (const auto& [what, content, part, message] : cases) {
    SCOPED_TRACE(what);
    const std::string path = dir.write("a.mat", mat_header() + content);
    const std::string said = message_of<InputError>([named = path + part] {
      read_mat_images(named);
      read_mat_labels(named);
    });
    EXPECT_THAT(said, AllOf(HasSubstr(path), HasSubstr(message)));
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

TEST(MatDigits, SurvivesCorruptBytes) {
  const TempDir dir;
  const MatBytes whole = svhn(2, {10, 3});
  const MatBytes packed = mat_header() + mat_deflated(mat_bytes_array("X", {2, 1, 3, 2}, mat_sevens(12))) +
                          mat_deflated(mat_bytes_array("y", {2, 1}, {10, 3}));
  for (const MatBytes& bytes : {whole, packed}) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      MatBytes wrong = bytes;
      wrong[at] ^= static_cast<uint8_t>(1 << at % 8);
      const std::string path = dir.write("wrong.mat", wrong);
      try {
        EXPECT_EQ(read_mat_images(path).count, static_cast<int64_t>(read_mat_labels(path).size()));
      } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("wrong.mat"));
      }
    }
  }
}

}  // namespace
}  // namespace tributary

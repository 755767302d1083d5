#include "tributary/data/digits/mat_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/mat.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using namespace test;  // the builders of tests/support/mat.h
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Reads every array and the first four cells of cell arrays.
void read_all(const std::string& path) {
  MatFile file(path);
  for (const std::string& name : file.names()) {
    for (int64_t cell = -1; cell < 4; ++cell) {
      try {
        file.read({name, cell});
      } catch (const InputError& error) {
        // Not a cell array, or not numeric.
        if (std::string(error.what()).find("name another file") == std::string::npos) throw;
      }
    }
  }
}

// Expects an InputError that contains the path and `part`.
void expect_mat_rejected(const std::string& path, const std::string& part) {
  EXPECT_THAT(message_of<InputError>([&path] { read_all(path); }), AllOf(HasSubstr(path), HasSubstr(part)));
}

MatBytes two_arrays() {
  return mat_header() + mat_bytes_array("X", {2, 3, 1}, mat_sevens(6)) + mat_double_array("y", {2, 1}, {3, 0.5});
}

MatBytes cells() {
  return mat_matrix(kMatCell, "dataset", {2, 2},
                    mat_bytes_array("", {1, 2}, {1, 2}) + mat_double_array("", {1, 1}, {-1}) + mat_tag(14, 0) +
                        mat_bytes_array("", {1, 1}, {9}));
}

TEST(MatFile, ReadsPlainAndDeflatedArrays) {
  const TempDir dir;
  const MatBytes bytes = mat_bytes_array("X", {2, 3, 1}, mat_sevens(6));
  const MatBytes doubles = mat_double_array("y", {2, 1}, {3, 0.5});
  for (const MatBytes& content : {bytes + doubles, mat_deflated(bytes) + mat_deflated(doubles)}) {
    MatFile file(dir.write("a.mat", mat_header() + content));
    EXPECT_THAT(file.names(), ElementsAre("X", "y"));
    EXPECT_TRUE(file.has("y"));
    EXPECT_FALSE(file.has("z"));
    const MatArray x = file.read({"X"});
    EXPECT_THAT(x.sizes, ElementsAre(2, 3, 1));
    EXPECT_FALSE(x.floating);
    EXPECT_EQ(x.bytes, mat_sevens(6));
    const MatArray y = file.read({"y"});
    EXPECT_TRUE(y.floating);
    EXPECT_EQ(y.at(0), 3);
    EXPECT_EQ(y.at(1), 0.5);
    EXPECT_THAT(file.outline({"X"}).sizes, ElementsAre(2, 3, 1));
    EXPECT_TRUE(file.outline({"X"}).bytes.empty());
  }
}

TEST(MatFile, ReadsEveryTypeOfNumber) {
  const TempDir dir;
  const struct {
    uint32_t type;
    MatBytes content;
    double second;
  } cases[] = {
      {1, mat_numbers<int8_t>({1, -2}), -2},
      {2, mat_numbers<uint8_t>({1, 200}), 200},
      {3, mat_numbers<int16_t>({1, -300}), -300},
      {4, mat_numbers<uint16_t>({1, 60000}), 60000},
      {5, mat_numbers<int32_t>({1, -70000}), -70000},
      {6, mat_numbers<uint32_t>({1, 4000000000}), 4000000000},
      {7, mat_numbers<float>({1, 0.25f}), 0.25},
      {9, mat_numbers<double>({1, 0.1}), 0.1},
      {12, mat_numbers<int64_t>({1, -5000000000}), -5000000000},
      {13, mat_numbers<uint64_t>({1, 5000000000}), 5000000000},
  };
  for (const auto& [type, content, second] : cases) {
    MatFile file(dir.write("a.mat", mat_header() + mat_matrix(kMatDouble, "a", {1, 2}, mat_element(type, content))));
    const MatArray array = file.read({"a"});
    EXPECT_EQ(array.at(0), 1) << type;
    EXPECT_EQ(array.at(1), second) << type;
    EXPECT_TRUE(array.floating) << "a double in MATLAB, for any storage type";
  }
}

TEST(MatFile, ReadsSmallElements) {
  const TempDir dir;
  // Up to four bytes of data may be in the tag, with the length in the upper half of the type.
  const MatBytes array = mat_element(14, mat_element(kMatUint32, mat_numbers<uint32_t>({kMatUint8Class, 0})) +
                                             mat_element(kMatInt32, mat_numbers<int32_t>({1, 3})) +
                                             MatBytes{1, 0, 2, 0, 'a', 'b', 0, 0} + MatBytes{2, 0, 3, 0, 5, 6, 7, 0});
  MatFile file(dir.write("a.mat", mat_header() + array));
  EXPECT_EQ(file.read({"ab"}).bytes, (MatBytes{5, 6, 7}));
}

TEST(MatFile, ReadsArraysInCells) {
  const TempDir dir;
  for (const MatBytes& content : {cells(), mat_deflated(cells())}) {
    MatFile file(dir.write("a.mat", mat_header() + content));
    EXPECT_EQ(file.read({"dataset", 0}).bytes, (MatBytes{1, 2}));
    EXPECT_EQ(file.read({"dataset", 1}).at(0), -1);
    EXPECT_EQ(file.read({"dataset", 2}).count(), 0);
    EXPECT_EQ(file.read({"dataset", 3}).bytes, (MatBytes{9}));
    EXPECT_THAT(message_of<InputError>([&] { file.read({"dataset"}); }), HasSubstr("not an array of real numbers"));
    EXPECT_THAT(message_of<InputError>([&] { file.read({"dataset", 4}); }), HasSubstr("not a cell array of 5 or more"));
  }
}

TEST(MatFile, IgnoresOtherElements) {
  const TempDir dir;
  const MatBytes text = mat_matrix(kMatChar, "text", {1, 2}, mat_element(4, {'a', 0, 'b', 0}));
  const MatBytes opaque = mat_element(14, mat_element(kMatUint32, mat_numbers<uint32_t>({17, 0})) + mat_sevens(40));
  MatFile file(dir.write("a.mat", mat_header() + text + opaque + mat_deflated(text) + mat_element(1, mat_sevens(5)) +
                                      mat_bytes_array("a", {1, 1}, {4})));
  EXPECT_THAT(file.names(), ElementsAre("a"));
  EXPECT_EQ(file.read({"a"}).at(0), 4);
}

TEST(MatFile, RejectsTruncation) {
  const TempDir dir;
  const MatBytes plain = two_arrays();
  const size_t between = 128 + mat_bytes_array("X", {2, 3, 1}, mat_sevens(6)).size();
  for (size_t length = 0; length < plain.size(); ++length) {
    if (length == 128 || length == between) continue;  // whole files with fewer arrays
    expect_mat_rejected(
        dir.write("cut.mat", MatBytes(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(length))),
        length < 128 ? "not a MATLAB 5 file" : "ends within");
  }
  const MatBytes packed = mat_header() + mat_deflated(cells());
  for (size_t length = 129; length < packed.size(); ++length) {
    MatBytes truncated(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(length));
    expect_mat_rejected(dir.write("cut.mat", truncated), "ends within");
    if (length < 136) continue;
    // The same with a consistent length in the tag.
    const MatBytes tag = mat_tag(15, length - 136);
    std::copy(tag.begin(), tag.end(), truncated.begin() + 128);
    expect_mat_rejected(dir.write("cut.mat", truncated), "it ends early");
  }
}

TEST(MatFile, SurvivesCorruptBytes) {
  const TempDir dir;
  for (const MatBytes& whole : {two_arrays(), mat_header() + cells(), mat_header() + mat_deflated(cells())}) {
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const uint8_t flip : {0x01, 0x80, 0xff}) {
        MatBytes wrong = whole;
        wrong[at] ^= flip;
        try {
          read_all(dir.write("wrong.mat", wrong));
        } catch (const InputError& error) {
          EXPECT_THAT(error.what(), HasSubstr("wrong.mat"));
        }
      }
    }
  }
}

TEST(MatFile, RejectsDamagedDeflateData) {
  const TempDir dir;
  const MatBytes packed = mat_header() + mat_deflated(mat_bytes_array("X", {10, 10}, mat_sevens(100)));
  for (size_t at = packed.size() - 4; at < packed.size(); ++at) {  // the checksum
    MatBytes wrong = packed;
    wrong[at] ^= 1;
    expect_mat_rejected(dir.write("wrong.mat", wrong), "corrupt deflated data");
  }
}

TEST(MatFile, RejectsInvalidHeadersAndSizes) {
  const TempDir dir;
  const int32_t huge = 0x7fffffff;
  const MatBytes four = mat_element(kMatUint8, {1, 2, 3, 4});
  const MatBytes big = mat_tag(kMatUint8, 0xfffffff0) + mat_sevens(64);
  MatBytes seven_three = mat_header(), big_endian = mat_header(), unknown = mat_header();
  seven_three[125] = 2;
  unknown[125] = 7;
  big_endian[126] = 'M', big_endian[127] = 'I';
  const struct {
    const char* what;
    MatBytes bytes;
    const char* part;
  } cases[] = {
      {"nothing", {}, "not a MATLAB 5 file"},
      {"text", MatBytes(200, 'x'), "not a MATLAB 5 file"},
      {"7.3", seven_three, "save it with -v7"},
      {"another version", unknown, "unknown version"},
      {"big-endian", big_endian, "big-endian"},
      {"a number too few", mat_header() + mat_matrix(kMatDouble, "a", {5, 1}, four), "4 bytes instead of 5"},
      {"a number too many", mat_header() + mat_matrix(kMatDouble, "a", {3, 1}, four), "4 bytes instead of 3"},
      {"many numbers", mat_header() + mat_matrix(kMatDouble, "a", {huge, 1}, four), "4 bytes instead of 2147483647"},
      {"gigabytes", mat_header() + mat_matrix(kMatDouble, "a", {0x0ffffff0, 16}, big), "bytes instead of 42949"},
      {"gigabytes, said twice", mat_header() + mat_matrix(kMatDouble, "a", {0x0fffffff, 16}, big), "ends early"},
      {"overflow", mat_header() + mat_matrix(kMatDouble, "a", {huge, huge, huge}, four), "size is impossible"},
      {"a negative size", mat_header() + mat_matrix(kMatDouble, "a", {-1, 4}, four), "size is impossible"},
      {"rank 1", mat_header() + mat_matrix(kMatDouble, "a", {4}, four), "size is unreadable"},
      {"rank 9", mat_header() + mat_matrix(kMatDouble, "a", std::vector<int32_t>(9, 1), four), "impossible length"},
      {"a long name", mat_header() + mat_matrix(kMatDouble, std::string(300, 'n'), {4, 1}, four), "impossible length"},
      {"an unknown type", mat_header() + mat_matrix(kMatDouble, "a", {4, 1}, mat_element(77, four)), "unknown type"},
      {"no numbers", mat_header() + mat_matrix(kMatDouble, "a", {4, 1}, {}), "ends early"},
      {"nothing in it", mat_header() + mat_tag(14, 8) + MatBytes(8), "too short"},
      {"many cells", mat_header() + mat_matrix(kMatCell, "a", {huge, 2}, {}), "ends early"},
      {"cells that are none", mat_header() + mat_matrix(kMatCell, "a", {4, 4}, four), "a cell is not an array"},
      {"not deflated", mat_header() + mat_tag(15, 16) + mat_sevens(16), "corrupt"},
      {"nothing deflated", mat_header() + mat_tag(15, 0), "ends early"},
      {"tail", two_arrays() + MatBytes{1, 2, 3}, "ends within"},
  };
  for (const auto& [what, bytes, part] : cases) {
    SCOPED_TRACE(what);
    expect_mat_rejected(dir.write("case.mat", bytes), part);
    if (bytes.size() <= 128 || bytes[126] != 'I' || bytes[128] == 15 || std::string(part) == "ends within") continue;
    expect_mat_rejected(dir.write("case.mat", mat_header() + mat_deflated(MatBytes(bytes.begin() + 128, bytes.end()))),
                        part);
  }
  const std::string complex =
      dir.write("complex.mat", mat_header() + mat_matrix(kMatDouble, "a", {4, 1}, four + four, 0x800));
  EXPECT_THAT(message_of<InputError>([&] { MatFile(complex).read({"a"}); }), HasSubstr("not an array of real numbers"));
}

TEST(MatFile, InflatesOnlyTheDeclaredSize) {
  // 64 MB of zeros instead of four numbers: rejected before inflation.
  const TempDir dir;
  const MatBytes array = mat_matrix(kMatDouble, "a", {4, 1}, mat_element(kMatUint8, MatBytes(64u << 20)));
  const std::string bomb = dir.write("bomb.mat", mat_header() + mat_deflated(array));
  EXPECT_LT(std::filesystem::file_size(bomb), 100'000u);
  expect_mat_rejected(bomb, "67108864 bytes instead of 4");
}

TEST(MatFile, RejectsPathsThatAreNotFiles) {
  const TempDir dir;
  expect_mat_rejected(dir / "missing.mat", "does not exist");
  expect_mat_rejected(dir.folder("folder.mat"), "not a file");
}

}  // namespace
}  // namespace tributary

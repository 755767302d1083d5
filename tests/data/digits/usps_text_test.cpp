#include "tributary/data/digits/usps_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using test::message_of;
using test::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A line such as "6.0000 -1.0000 ... 1.0000 "; all pixels but the first two are `rest`.
std::string line(const std::string& label, double first = -1, double second = 1, int pixels = 256, double rest = 0) {
  std::string text = label;
  for (int i = 0; i < pixels; ++i) text += fmt::format(" {:.4f}", i == 0 ? first : i == 1 ? second : rest);
  return text + " \n";
}

std::string write_gzipped(const TempDir& dir, const std::string& name, const std::string& text) {
  gzFile file = gzopen((dir / name).c_str(), "wb");
  EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(file);
  return dir / name;
}

TEST(UspsText, ReadsPlainAndGzippedFiles) {
  const TempDir dir;
  const std::string text = line("6.0000") + line("0.0000", 0.5, -0.5) + line("9");
  for (const std::string& path : {dir.write("zip.train", text), write_gzipped(dir, "zip.train.gz", text)}) {
    const UspsText digits = read_usps_text(path);
    EXPECT_EQ(digits.images.count, 3);
    EXPECT_EQ(digits.images.height, 16);
    EXPECT_EQ(digits.images.width, 16);
    EXPECT_EQ(digits.images.channels, 1);
    ASSERT_EQ(digits.images.bytes.size(), 3u * 256);
    EXPECT_EQ(digits.images.bytes[0], 0);
    EXPECT_EQ(digits.images.bytes[1], 255);
    EXPECT_EQ(digits.images.bytes[2], 128);
    EXPECT_EQ(digits.images.bytes[256], 191);
    EXPECT_EQ(digits.images.bytes[257], 64);
    EXPECT_THAT(digits.labels, ElementsAre(6, 0, 9));
  }
}

TEST(UspsText, IsDetectedByNameOrFirstLine) {
  const TempDir dir;
  EXPECT_TRUE(is_usps_text(dir.write("zip.test", "x")));
  EXPECT_TRUE(is_usps_text(dir.write("digits.txt", line("3"))));
  EXPECT_TRUE(is_usps_text(write_gzipped(dir, "digits.gz", line("3"))));
  EXPECT_FALSE(is_usps_text(dir.write("list.txt", "a.png 3\n")));
  EXPECT_FALSE(is_usps_text(dir.write("short.txt", line("3", 0, 0, 255))));
  EXPECT_FALSE(is_usps_text(dir.write("nothing", "")));
  EXPECT_FALSE(is_usps_text(dir / "missing"));
}

TEST(UspsText, NamesTheInvalidLine) {
  const TempDir dir;
  const std::string good = line("3");
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"", "is empty"},
      {"\n \n", "is empty"},
      {good + "hello\n", "line 2 is not all numbers"},
      {good + good + line("3x"), "line 3 is not all numbers"},
      {line("3", 0, 0, 255), "line 1 has 256 numbers instead of a label and 16 x 16 pixels"},
      {line("3", 0, 0, 257), "line 1 has too many numbers"},
      {line("10"), "line 1 has the label 10, which is not a digit"},
      {line("-1"), "line 1 has the label -1"},
      {line("2.5"), "line 1 has the label 2.5"},
      {line("nan"), "line 1 has the label nan"},
      {line("3", 1.5), "line 1 has a pixel of 1.5"},
      {line("3", -1, 255), "line 1 has a pixel of 255"},
      {std::string(100'000, '1'), "line 1 is not all numbers"},
      {std::string(100'000, ' '), "is empty"},
      {good.substr(0, 1000), "line 1 has"},
  };
  for (const auto& [text, message] : cases) {
    for (const std::string& path : {dir.write("zip.train", text), write_gzipped(dir, "zip.train.gz", text)})
      EXPECT_THAT(message_of<InputError>([&path = path] { read_usps_text(path); }),
                  AllOf(HasSubstr(path), HasSubstr(message)));
  }
}

TEST(UspsText, RejectsTruncatedGzip) {
  const TempDir dir;
  const std::vector<uint8_t> packed = test::read_bytes(write_gzipped(dir, "zip.train.gz", line("3") + line("4")));
  for (size_t length = 2; length < packed.size(); ++length) {
    const std::string path = dir.write("zip.train.gz", std::span(packed).first(length));
    EXPECT_THAT(message_of<InputError>([&path] { read_usps_text(path); }), HasSubstr("gzip data is truncated"));
  }
}

TEST(UspsText, RejectsTooManyLines) {
  const TempDir dir;
  const std::string path = write_gzipped(dir, "zip.train.gz", line("3") + std::string(100'000, '\n'));
  EXPECT_THAT(message_of<InputError>([&path] { read_usps_text(path); }), HasSubstr("more than 100000 lines"));
}

}  // namespace
}  // namespace tributary

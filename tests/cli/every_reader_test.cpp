// What every reader of the program must withstand: a small file that claims to be large, under a name that no terminal
// may obey.
//
// The readers are those of fuzz/targets/, so that a new one cannot be forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/run/run_files.h"
#include "tests/support/forked_program.h"
#include "tests/support/pictures.h"
#include "tests/support/safe_text.h"
#include "tests/support/tar.h"
#include "tributary/io/safetensors.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Claim {
  std::string reader;     // a file of fuzz/targets/
  std::string ending;     // of the file's name
  std::string content;    // small
  std::string arguments;  // with FILE
  std::string expected;   // part of the refusal
};

std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

// Sets the height and width of a JPEG's frame header.
std::string jpeg_of_size(test::JpegKind kind, int side) {
  std::string jpeg = text_of(test::encode_jpeg(test::sample_picture(8, 8), kind));
  const size_t frame = jpeg.find(kind == test::JpegKind::kProgressive ? "\xff\xc2" : "\xff\xc0");
  for (const size_t at : {frame + 5, frame + 7}) {
    jpeg[at] = static_cast<char>(side >> 8);
    jpeg[at + 1] = static_cast<char>(side & 0xff);
  }
  return jpeg;
}

std::string png_of_size(uint32_t side) {
  std::string png = text_of(test::encode_png(test::sample_picture(8, 8)));
  const auto put = [&png](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) png[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, side);
  put(20, side);
  put(29, static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(png.data()) + 12, 17)));
  return png;
}

std::string with_bytes(std::string bytes, size_t at, const std::string& other) {
  return bytes.replace(at, other.size(), other);
}

std::string corpus(const std::string& file) {
  return test::file_text(std::string(TRIBUTARY_SOURCE_DIR) + "/fuzz/corpus/" + file);
}

std::vector<Claim> claims() {
  const std::string predict = "predict good.safetensors --data FILE", picture = predict + " --max-megapixels 65";
  const std::string model = "adapt --source FILE --target pictures";
  const std::string nested = "a = " + std::string(3000, '[') + std::string(3000, ']') + "\n";
  const std::string side = little_endian(8000, 4), short_side = little_endian(8000, 2);
  const std::string gif = "GIF89a" + short_side + short_side + std::string(3, '\0') + "," + std::string(4, '\0') +
                          short_side + short_side + std::string("\0\x08", 2);
  const std::string bmp = text_of(test::encode_bmp(test::sample_picture(8, 8)));
  const std::string tiff = text_of(test::encode_tiff(test::sample_picture(8, 8)));
  const std::string idx("\0\0\x08\x03\0\0\0\1\0\0\xff\xff\0\0\xff\xff", 16);
  const std::string mat = "MATLAB 5.0 MAT-file" + std::string(105, ' ') + std::string("\0\x01IM", 4);
  const std::string webp = "RIFF" + little_endian(22, 4) + "WEBPVP8X" + little_endian(10, 4) + little_endian(0, 4) +
                           little_endian(7999, 3) + little_endian(7999, 3);
  // A file of PyTorch 1.5 or earlier: mark, version and system, then a text of 2 GB.
  const std::string pickled = std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15) +
                              std::string("\x80\x02M\xe9\x03.", 6) +
                              std::string("\x80\x02}X\x0d\0\0\0little_endian\x88s.", 24) +
                              std::string("\x80\x02X\xff\xff\xff\x7f", 7);
  const std::string two_gigabytes = little_endian(0x7fffffff, 4);
  return {
      {"benchmark", ".toml", "[benchmark]\nname = \"x\"\n" + nested, "bench FILE", "nested"},
      {"bmp", ".bmp", with_bytes(bmp, 18, side + side), picture, "truncated BMP"},
      {"gif", ".gif", gif, picture, "GIF"},
      {"idx", "-images.idx", idx, predict, "4294836225 bytes"},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kRgb, 8000), picture, "truncated JPEG"},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kProgressive, 8000), picture, "truncated JPEG"},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kRgb, 65000), picture, "more than the limit"},
      {"list", ".txt", "pictures/a.png 2147483647\n", "evaluate good.safetensors --data FILE", "label 1000000 or more"},
      {"mat", ".mat", mat + little_endian(9, 4) + two_gigabytes, predict, "ends within the array"},
      {"model_info", ".safetensors", "", model, "not 4096x4096"},  // changes the good model
      {"pickle", ".pt", pickled, model, "damaged pickle"},
      {"png", ".png", png_of_size(8000), picture, "PNG"},
      {"pytorch", ".pt", corpus("pytorch/state-dict-legacy.pt").substr(0, 400), model, "damaged pickle"},
      {"safetensors", ".safetensors", little_endian(uint64_t{1} << 60, 8) + "{}", model, "header length"},
      {"tar", ".tar", tar_header("a.png", int64_t{1} << 32, TarWritten::kRegular) + test::tar_end(), predict,
       "needs 4,294,967,296 bytes"},
      {"tiff", ".tif", with_bytes(with_bytes(tiff, 18, side), 30, side), picture, "TIFF"},
      {"toml", ".toml", nested, "adapt --config FILE --source good.safetensors --target pictures", "nested"},
      {"usps", ".txt", corpus("usps/two.txt") + std::string(20'000, '1'), predict, "line 3"},
      {"webp", ".webp", webp, picture, "WebP"},
      {"zip", ".pth", with_bytes(corpus("zip/stored.zip"), 18, two_gigabytes + two_gigabytes), model,
       "damaged zip archive"},
  };
}

TEST(EveryReader, TakesNoMemoryForAClaimAndNamesTheFileSafely) {
  const test::TempDir folder;
  const SourceModel good(test::small_info("lenet"), Random(1));
  save_source(folder / "good.safetensors", good);
  folder.write("pictures/a.png", text_of(test::encode_png(test::sample_picture(8, 8))));
  folder.write("pictures/b.png", text_of(test::encode_png(test::sample_picture(8, 8))));
  const int64_t usual = test::run_forked_program(folder, "predict good.safetensors --data pictures").peak_bytes;

  std::set<std::string> covered = {"writers"};  // reads what we wrote ourselves
  for (Claim claim : claims()) {
    covered.insert(claim.reader);
    const std::string name = "\x1b]0;owned\x07" + claim.reader + claim.ending;
    if (claim.reader == "model_info") {
      const SafetensorsFile file = SafetensorsFile::read(folder / "good.safetensors");
      auto metadata = file.metadata();
      nlohmann::json description = nlohmann::json::parse(metadata.at("model"));
      description["input_size"] = description["resize"] = 4096;
      metadata["model"] = description.dump();
      write_safetensors(folder / name, file.entries(), metadata);
    } else {
      folder.write(name, claim.content);
    }
    const std::string quoted = test::shell_quoted(name);
    claim.arguments.replace(claim.arguments.find("FILE"), 4, quoted);
    const test::Outcome outcome = test::run_forked_program(folder, claim.arguments);
    const std::string label = claim.reader + ": " + claim.arguments + "\n" + outcome.err;
    EXPECT_EQ(outcome.code, 2) << label;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << label;
    EXPECT_TRUE(test::is_safe_text(outcome.err)) << label;
    EXPECT_THAT(outcome.err, HasSubstr(claim.reader + claim.ending)) << label;
    EXPECT_THAT(outcome.err, HasSubstr(claim.expected)) << label;
    constexpr int64_t kAllowed = int64_t{128} << 20;  // 8000 x 8000 pixels take 192 MB
    EXPECT_LT(outcome.peak_bytes - usual, kAllowed) << label;
    fs::remove(folder / name);
  }
  std::set<std::string> readers;
  for (const auto& entry : fs::directory_iterator(std::string(TRIBUTARY_SOURCE_DIR) + "/fuzz/targets"))
    readers.insert(entry.path().stem().string());
  EXPECT_EQ(covered, readers);
}

}  // namespace
}  // namespace tributary

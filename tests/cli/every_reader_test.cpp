// What every reader of the program must withstand: a small file that claims to be large, under a name that no terminal
// may obey.
//
// The readers are those of fuzz/targets/, so that a new one cannot be forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

std::string with_bytes(std::string bytes, size_t at, const std::string& other) {
  return bytes.replace(at, other.size(), other);
}

std::string corpus(const std::string& file) {
  return test::file_text(std::string(TRIBUTARY_SOURCE_DIR) + "/fuzz/corpus/" + file);
}

std::vector<Claim> claims() {
  const std::string predict = "predict good.safetensors --data FILE", picture = predict + " --max-megapixels 65";
  const std::string model = "adapt --source FILE --target pictures";
  const auto number = [](uint64_t value, size_t bytes) { return little_endian(value, bytes); };
  const std::string nested = "a = " + std::string(3000, '[') + std::string(3000, ']') + "\n";
  const std::string idx("\0\0\x08\x03\0\0\0\1\0\0\xff\xff\0\0\xff\xff", 16);
  const std::string mat = "MATLAB 5.0 MAT-file" + std::string(105, ' ') + std::string("\0\x01IM", 4);
  const std::string png = text_of(test::encode_png(test::sample_picture(8, 8)));
  // A legacy file of PyTorch: its mark, version and system, then a text of 2 GB.
  const std::string legacy("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.", 27);
  const std::string stored = corpus("zip/stored.zip");
  return {
      {"benchmark", ".toml", "[benchmark]\nname = \"x\"\n" + nested, "bench FILE"},
      {"bmp", ".bmp",
       with_bytes(text_of(test::encode_bmp(test::sample_picture(8, 8))), 18, number(8000, 4) + number(8000, 4)),
       picture},
      {"gif", ".gif",
       "GIF89a" + number(8000, 2) + number(8000, 2) + std::string(3, '\0') + "," + number(0, 4) + number(8000, 2) +
           number(8000, 2) + std::string(1, '\0') + "\x08",
       picture},
      {"idx", "-images.idx", idx, predict},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kRgb, 8000), picture},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kProgressive, 8000), picture},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kRgb, 65000), picture},
      {"list", ".txt", "pictures/a.png 2147483647\n", "evaluate good.safetensors --data FILE"},
      {"mat", ".mat", mat + number(9, 4) + number(0x7fffffff, 4), predict},
      {"model_info", ".safetensors", "", model},  // written below
      {"pickle", ".pt", legacy + std::string("\x80\x02X\xff\xff\xff\x7f", 7), model},
      {"png", ".png", with_bytes(png, 16, std::string("\0\0\x1f\x40\0\0\x1f\x40", 8)), picture},
      {"pytorch", ".pt", corpus("pytorch/state-dict-legacy.pt").substr(0, 400), model},
      {"safetensors", ".safetensors", number(uint64_t{1} << 60, 8) + "{}", model},
      {"tar", ".tar", tar_header("a.png", int64_t{1} << 32, TarWritten::kRegular) + test::tar_end(), predict},
      {"tiff", ".tif",
       with_bytes(with_bytes(text_of(test::encode_tiff(test::sample_picture(8, 8))), 18, number(8000, 4)), 30,
                  number(8000, 4)),
       picture},
      {"toml", ".toml", nested, "adapt --config FILE --source good.safetensors --target pictures"},
      {"usps", ".txt", "6 " + std::string(20'000, '1') + "\n", predict},
      {"webp", ".webp",
       "RIFF" + number(22, 4) + "WEBPVP8X" + number(10, 4) + number(0, 4) + number(7999, 3) + number(7999, 3), picture},
      {"zip", ".pth", with_bytes(stored, 18, number(0x7fffffff, 4) + number(0x7fffffff, 4)), model},
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
    const std::string name = "caf\xe9\x1b]0;owned\x07" + claim.reader + claim.ending;
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

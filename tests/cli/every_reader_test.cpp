// What every reader of the program must withstand: a small file that claims to be large, under a name that no terminal
// may obey; text that is not UTF-8 or that a terminal obeys; weights that give NaN.
//
// The readers are those of fuzz/targets/, so that a new one cannot be forgotten; tests/layout/calls_test.py asks for a
// fuzz target of every reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/run/run_files.h"
#include "tests/support/forked_program.h"
#include "tests/support/mat.h"
#include "tests/support/pictures.h"
#include "tests/support/safe_text.h"
#include "tests/support/tar.h"
#include "tributary/io/pytorch_writer.h"
#include "tributary/io/safetensors.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Claim {
  std::string reader;     // a file of fuzz/targets/
  std::string ending;     // of the file's name
  std::string content;    // small; of model_info, what it changes in a good description
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

// A safetensors file with an empty tensor of each name.
std::string named_tensors(const std::vector<std::string>& names) {
  nlohmann::json header;
  for (const std::string& name : names) header[name] = {{"dtype", "F32"}, {"shape", {0}}, {"data_offsets", {0, 0}}};
  const std::string text = header.dump();
  return little_endian(text.size(), 8) + text;
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
  const std::string npy_header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1048576, 262144), }";
  const std::string npy = std::string("\x93NUMPY\x01\0", 8) + little_endian(npy_header.size(), 2) + npy_header;
  const std::string two_gigabytes = little_endian(0x7fffffff, 4);
  // 262 GB of weights, and a name that fills the terminal.
  const std::string outputs =
      nlohmann::json{{"feature_width", 65536}, {"outputs", std::vector<int>(1'000'000, 0)}}.dump();
  const std::string architecture = nlohmann::json{{"architecture", std::string(5'000'000, 'x')}}.dump();
  std::string prefixes;
  for (int i = 0; i < 1'000'000; ++i) prefixes += "module.";
  return {
      {"benchmark", ".toml", "[benchmark]\nname = \"x\"\n" + nested, "bench FILE", "nested"},
      {"bmp", ".bmp", with_bytes(bmp, 18, side + side), picture, "truncated BMP"},
      {"gif", ".gif", gif, picture, "GIF"},
      {"idx", "-images.idx", idx, predict, "4294836225 bytes"},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kRgb, 8000), picture, "truncated JPEG"},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kProgressive, 8000), picture, "truncated JPEG"},
      {"jpeg", ".jpg", jpeg_of_size(test::JpegKind::kRgb, 65000), picture, "more than the limit"},
      {"labels", ".csv", "picture,label,drawn\na.png,0,random 99999999999999999999\n",
       "adapt --source good.safetensors --target pictures --run labelled --labels FILE", "no seed of an audit sample"},
      {"list", ".txt", "pictures/a.png 2147483647\n", "evaluate good.safetensors --data FILE", "label 1000000 or more"},
      {"mat", ".mat", mat + little_endian(9, 4) + two_gigabytes, predict, "ends within the array"},
      {"model_info", ".safetensors", R"({"input_size": 4096, "resize": 4096})", model, "not 4096x4096"},
      {"model_info", ".safetensors", outputs, model, "classifier.weight_v has another shape"},
      {"model_info", ".safetensors", architecture, model, "there is no architecture 'xxx"},
      {"npy", ".npy", npy, "inspect FILE", "its shape needs 1099511627776 bytes of data"},
      {"pickle", ".pt", pickled, model, "damaged pickle"},
      {"png", ".png", png_of_size(8000), picture, "PNG"},
      {"pytorch", ".pt", corpus("pytorch/state-dict-legacy.pt").substr(0, 400), model, "damaged pickle"},
      {"safetensors", ".safetensors", little_endian(uint64_t{1} << 60, 8) + "{}", model, "header length"},
      {"safetensors", ".safetensors", named_tensors({prefixes + "x"}), model, "match no known architecture"},
      {"safetensors", ".safetensors",
       named_tensors({"layers.0.downsample.a", "layers.99999999999999999999.downsample.a"}), model,
       "match no known architecture"},
      {"scores", ".csv", "picture,cat,dog\na.png,0.5,9" + std::string(1000, '9') + "e999\n", model, "is infinite"},
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

std::set<std::string> readers() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(std::string(TRIBUTARY_SOURCE_DIR) + "/fuzz/targets"))
    names.insert(entry.path().stem().string());
  return names;
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
      description.merge_patch(nlohmann::json::parse(claim.content));
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
    EXPECT_LT(outcome.err.size(), 20'000u) << label;
    EXPECT_THAT(outcome.err, HasSubstr(claim.reader + claim.ending)) << label;
    EXPECT_THAT(outcome.err, HasSubstr(claim.expected)) << label;
    constexpr int64_t kAllowed = int64_t{128} << 20;  // 8000 x 8000 pixels take 192 MB
    EXPECT_LT(outcome.peak_bytes - usual, kAllowed) << label;
    fs::remove(folder / name);
  }
  EXPECT_EQ(covered, readers());
}

// Text of every kind of file: read, or refused in one sentence, and shown without what a terminal or a shell obeys.
TEST(EveryReader, ShowsForeignTextWithoutControlCharacters) {
  const test::TempDir folder;
  const SourceModel good(test::small_info("lenet"), Random(1));
  save_source(folder / "good.safetensors", good);
  const std::string png = text_of(test::encode_png(test::sample_picture(8, 8)));
  folder.write("pictures/a.png", png);
  const std::string hostile = "\x1b]0;owned\x07", latin1 = "caf\xe9", toml = "\\u001b]0;owned";
  const SafetensorsFile file = SafetensorsFile::read(folder / "good.safetensors");

  const std::vector<float> values(4);
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(values.data()), 16);
  const std::vector<TensorEntry> named = {{hostile + ";touch owned;'.weight", DType::F32, {2, 2}, bytes},
                                          {"$(touch owned).weight", DType::F32, {2, 2}, bytes}};
  write_safetensors(folder / "names.safetensors", named, {{hostile, hostile}});
  write_state_dict(folder / "names.pth", named);
  auto metadata = file.metadata();
  nlohmann::json description = nlohmann::json::parse(metadata.at("model"));
  description["architecture"] = description["name"] = hostile;
  metadata["model"] = description.dump();
  write_safetensors(folder / "description.safetensors", file.entries(), metadata);
  const test::MatBytes mat = test::mat_of({test::mat_bytes_array(hostile + latin1, {2, 2}, {1, 2, 3, 4})});
  folder.write("name.mat", text_of(mat));
  folder.write("names.txt", latin1 + hostile + ".png 1\n");
  folder.write("usps.txt", corpus("usps/two.txt") + hostile + latin1 + "\n");
  folder.write("domains.toml",
               "[benchmark]\nname = \"" + toml + "\"\n[[benchmark.domains]]\nname = \"" + toml + "\"\n");
  folder.write("latin1.toml", "[benchmark]\nname = \"" + latin1 + "\"\n");
  folder.write("config.toml", "[adapt]\n\"" + toml + "\" = 1\n");
  folder.write("names.csv", "picture,label\n" + hostile + latin1 + ".png," + hostile + "\n");
  folder.write("classes.csv", "picture,label\na.png," + hostile + latin1 + "\n");
  folder.write("scores.csv", "picture,\x1b[2Jcat,\x1b[2Jcat\n" + latin1 + "\x1b[2Ja.png,0.5,0.5\n");
  folder.write("sums.csv", "picture,cat,dog\n" + latin1 + "\x1b[2Ja.png,0.5,0.7\n");
  const std::string npy = "{'descr': '\x1b[2J" + latin1 + "', 'fortran_order': False, 'shape': (1, 2), }";
  folder.write("type.npy", std::string("\x93NUMPY\x01\0", 8) + little_endian(npy.size(), 2) + npy);
  folder.write("names.tar", test::tar_of({{latin1 + ".png", png}, {"b.png", png}}));

  const std::string predict = "predict good.safetensors --json --data ";
  const std::string labelled = "adapt --source good.safetensors --target pictures --run labelled --labels ";
  const std::vector<std::pair<std::string, std::string>> uses = {
      {"benchmark", "bench domains.toml"},
      {"benchmark", "bench latin1.toml"},
      {"labels", labelled + "names.csv"},
      {"labels", labelled + "classes.csv"},
      {"list", predict + "names.txt"},
      {"mat", predict + "name.mat"},
      {"model_info", "inspect description.safetensors"},
      {"npy", "inspect type.npy"},
      {"pickle", "inspect names.pth --tensors"},
      {"pytorch", "inspect names.pth"},
      {"pytorch", "adapt --source names.pth --target pictures"},
      {"safetensors", "inspect names.safetensors"},
      {"safetensors", "inspect names.safetensors --json"},
      {"scores", "inspect scores.csv"},
      {"scores", "adapt --source sums.csv --target pictures"},
      {"tar", predict + "names.tar"},
      {"toml", "adapt --config config.toml --source good.safetensors --target pictures"},
      {"usps", predict + "usps.txt"},
      {"zip", "predict names.pth --data pictures"}};
  // Of these no text is shown but the file's name. The last one reads what we wrote ourselves.
  std::set<std::string> covered = {"bmp", "gif", "idx", "jpeg", "png", "tiff", "webp", "writers"};
  for (const auto& [reader, arguments] : uses) {
    covered.insert(reader);
    const test::Outcome outcome = test::run_forked_program(folder, arguments);
    const std::string label = arguments + "\n" + outcome.out + outcome.err;
    EXPECT_TRUE(outcome.code == 2 || (outcome.code == 0 && reader == "tar")) << label;
    EXPECT_TRUE(test::is_safe_text(outcome.out)) << label;
    EXPECT_TRUE(test::is_safe_text(outcome.err)) << label;
    EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("exception"))) << label;
    // Commands to copy into a shell.
    EXPECT_THAT(outcome.out, ::testing::Not(::testing::ContainsRegex("last-layer[ =][^ ']*[;$(]"))) << label;
    if (outcome.code == 2) {
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << label;
    }
  }
  EXPECT_EQ(covered, readers());
}

TEST(EveryReader, RefusesWeightsThatComputeNan) {
  const test::TempDir folder;
  ModelInfo info = test::small_info("lenet", 10, 1250);
  info.bottleneck = false;
  info.classifier = ClassifierKind::kLinear;
  save_source(folder / "ours.safetensors", SourceModel(info, Random(1)));
  folder.write("pictures/a.png", text_of(test::encode_png(test::sample_picture(8, 8))));
  const SafetensorsFile file = SafetensorsFile::read(folder / "ours.safetensors");
  for (const float factor : {1.0F, 1e30F}) {
    std::vector<std::vector<float>> values;
    std::vector<TensorEntry> entries = file.entries();
    for (TensorEntry& entry : entries) {
      if (entry.dtype != DType::F32) continue;
      std::vector<float>& scaled = values.emplace_back(entry.data.size() / sizeof(float));
      std::memcpy(scaled.data(), entry.data.data(), entry.data.size());
      for (float& value : scaled) value *= factor;
      entry.data = {reinterpret_cast<const uint8_t*>(scaled.data()), entry.data.size()};
    }
    const std::string kind = factor == 1 ? "good-" : "huge-";
    write_safetensors(folder / (kind + "ours.safetensors"), entries, file.metadata());
    for (TensorEntry& entry : entries)
      for (const auto& [ours, theirs] : {std::pair<std::string, std::string>("backbone.", ""), {"classifier.", "fc."}})
        if (entry.name.starts_with(ours)) entry.name = theirs + entry.name.substr(ours.size());
    write_safetensors(folder / (kind + "theirs.safetensors"), entries);
    write_state_dict(folder / (kind + "theirs.pth"), entries);
  }
  const std::vector<std::pair<std::string, std::set<std::string>>> models = {
      {"ours.safetensors", {"model_info"}},
      {"theirs.safetensors", {"safetensors"}},
      {"theirs.pth", {"pickle", "pytorch", "zip"}}};
  std::set<std::string> covered = {
      "benchmark", "bmp",    "gif", "idx",  "jpeg", "labels", "list", "mat",    "npy",
      "png",       "scores", "tar", "tiff", "toml", "usps",   "webp", "writers"};  // hold no weights
  for (const auto& [model, own_readers] : models) {
    covered.insert(own_readers.begin(), own_readers.end());
    const test::Outcome finite = test::run_forked_program(folder, "predict good-" + model + " --data pictures");
    EXPECT_EQ(finite.code, 0) << model << finite.err;
    const test::Outcome outcome = test::run_forked_program(folder, "predict huge-" + model + " --data pictures");
    EXPECT_EQ(outcome.code, 2) << model << outcome.err;
    EXPECT_EQ(outcome.out, "") << model;
    EXPECT_THAT(outcome.err, HasSubstr("huge-" + model + ": its logits are non-finite"));
  }
  EXPECT_EQ(covered, readers());
}

}  // namespace
}  // namespace tributary

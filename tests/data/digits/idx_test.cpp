#include "tributary/data/digits/idx.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "tests/support/pictures.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using test::TempDir;
using Bytes = std::vector<uint8_t>;

Bytes idx(std::vector<uint32_t> sizes, size_t body_bytes, uint8_t type = 8) {
  Bytes bytes = {0, 0, type, static_cast<uint8_t>(sizes.size())};
  for (const uint32_t size : sizes) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<uint8_t>(size >> shift));
  }
  for (size_t i = 0; i < body_bytes; ++i) bytes.push_back(static_cast<uint8_t>(i * 7));
  return bytes;
}

Bytes gzipped(const Bytes& bytes) {
  Bytes out(bytes.size() + bytes.size() / 1000 + 1000);
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = const_cast<uint8_t*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Bytes first_bytes(const Bytes& bytes, size_t length) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}

Bytes joined(Bytes bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

// Expects an InputError that contains the path and `part`.
void expect_idx_rejected(const std::string& path, bool images, const std::string& part) {
  const std::string message = test::message_of<InputError>([&] {
    if (images) {
      read_idx_images(path);
    } else {
      read_idx_labels(path);
    }
  });
  EXPECT_NE(message.find(path), std::string::npos) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message << "\n  lacks: " << part;
}

TEST(ReadIdx, ReadsPlainAndGzippedPictures) {
  const TempDir dir;
  const struct {
    std::vector<uint32_t> sizes;
    int channels;
  } cases[] = {{{5, 4, 3}, 1}, {{5, 4, 3, 3}, 3}, {{1, 1, 1}, 1}};
  for (const auto& [sizes, channels] : cases) {
    const size_t count = size_t{sizes[0]} * sizes[1] * sizes[2] * static_cast<size_t>(channels);
    const Bytes bytes = idx(sizes, count);
    const Bytes body(bytes.end() - static_cast<std::ptrdiff_t>(count), bytes.end());
    for (const std::string& path : {dir.write("a-images.idx", bytes), dir.write("a-images.idx.gz", gzipped(bytes)),
                                    dir.write("gzip-without-the-name", gzipped(bytes))}) {
      const PackedImages images = read_idx_images(path);
      EXPECT_EQ(images.count, sizes[0]);
      EXPECT_EQ(images.height, static_cast<int>(sizes[1]));
      EXPECT_EQ(images.width, static_cast<int>(sizes[2]));
      EXPECT_EQ(images.channels, channels);
      EXPECT_EQ(images.bytes, body);
      EXPECT_TRUE(is_idx_file(path));
    }
  }
}

TEST(ReadIdx, ReadsLabels) {
  const TempDir dir;
  const Bytes expected = {0, 7, 14, 21};
  EXPECT_EQ(read_idx_labels(dir.write("labels", idx({4}, 4))), expected);
  EXPECT_EQ(read_idx_labels(dir.write("labels.gz", gzipped(idx({4}, 4)))), expected);
}

TEST(ReadIdx, ReadsLargeAndMultiMemberGzip) {
  const TempDir dir;
  const Bytes bytes = idx({5000, 28, 28}, 5000 * 28 * 28);
  EXPECT_EQ(read_idx_images(dir.write("large.gz", gzipped(bytes))).bytes.size(), 5000u * 28 * 28);
  const Bytes labels = idx({4}, 4);
  const Bytes two = joined(gzipped(first_bytes(labels, 5)), gzipped(Bytes(labels.begin() + 5, labels.end())));
  EXPECT_EQ(read_idx_labels(dir.write("two.gz", two)).size(), 4u);
}

TEST(ReadIdx, RejectsTruncation) {
  const TempDir dir;
  const Bytes plain = idx({3, 4, 5}, 60);
  for (size_t length = 0; length < plain.size(); ++length) {
    expect_idx_rejected(dir.write("cut.idx", first_bytes(plain, length)), true, "");
    // Truncated before compression: valid gzip with truncated content.
    expect_idx_rejected(dir.write("cut.idx.gz", gzipped(first_bytes(plain, length))), true, "");
  }
  const Bytes packed = gzipped(plain);
  for (size_t length = 0; length < packed.size(); ++length)
    expect_idx_rejected(dir.write("cut.idx.gz", first_bytes(packed, length)), true, length < 2 ? "too short" : "gzip");
}

TEST(ReadIdx, RejectsInvalidHeadersAndLengths) {
  const TempDir dir;
  const uint32_t huge = 0xffffffff;
  const struct {
    const char* what;
    Bytes bytes;
    bool images;
    const char* part;
  } cases[] = {
      {"nothing", {}, true, "too short"},
      {"text", {'h', 'e', 'l', 'l', 'o'}, true, "starts with 68 65"},
      {"floats", idx({1, 2, 2}, 16, 0x0d), true, "type 0x0d"},
      {"signed bytes", idx({4}, 4, 0x09), false, "type 0x09"},
      {"rank 0", {0, 0, 8, 0}, true, "0 dimensions"},
      {"rank 5", idx({1, 1, 1, 1, 1}, 1), true, "5 dimensions"},
      {"rank 255", {0, 0, 8, 255, 0, 0, 0, 1}, true, "255 dimensions"},
      {"labels for pictures", idx({4}, 4), true, "and so no pictures"},
      {"rank 2", idx({4, 4}, 16), true, "and so no pictures"},
      {"pictures for labels", idx({1, 2, 2}, 4), false, "and so no labels"},
      {"four channels", idx({1, 2, 2, 4}, 16), true, "[1, 2, 2, 4]"},
      {"one channel", idx({1, 2, 2, 1}, 4), true, "[1, 2, 2, 1]"},
      {"no pictures", idx({0, 2, 2}, 0), true, "empty"},
      {"no height", idx({2, 0, 2}, 0), true, "empty"},
      {"no labels", idx({0}, 0), false, "empty"},
      {"a byte missing", idx({2, 2, 2}, 7), true, "8 bytes for its size [2, 2, 2] but holds 7"},
      {"a byte too many", idx({2, 2, 2}, 9), true, "8 bytes for its size [2, 2, 2] but holds"},
      {"a label missing", idx({5}, 4), false, "but holds 4"},
      {"a label too many", idx({5}, 6), false, "but holds"},
      {"many pictures", idx({huge, 28, 28}, 784), true, "but holds 784"},
      {"many labels", idx({huge}, 4), false, "but holds 4"},
      {"wide pictures", idx({1, huge, 2}, 8), true, "impossible"},
      {"overflow", idx({huge, huge, huge}, 8), true, "impossible"},
      {"overflow to small", idx({0x80000000, 0x80000000, 4, 3}, 8), true, "impossible"},
      {"overflow of four", idx({huge, huge, huge, huge}, 8), true, "impossible"},
  };
  for (const auto& [what, bytes, images, part] : cases) {
    SCOPED_TRACE(what);
    expect_idx_rejected(dir.write("case.idx", bytes), images, part);
    expect_idx_rejected(dir.write("case.idx.gz", gzipped(bytes)), images, part);
  }
}

TEST(ReadIdx, LimitsThePixelsOfAPicture) {
  const TempDir dir;  // 4 MB of gzip could hold these 4 GB
  expect_idx_rejected(dir.write("large.idx.gz", gzipped(idx({1, 65535, 65535}, 8))), true, "more than the limit");
}

TEST(ReadIdx, DecompressesOnlyTheDeclaredSize) {
  // 64 MB of zeros after a header that declares four labels: rejected at the fifth byte.
  const TempDir dir;
  const std::string bomb = dir.write("bomb.gz", gzipped(joined(idx({4}, 4), Bytes(64u << 20, 0))));
  EXPECT_LT(std::filesystem::file_size(bomb), 100'000u);
  expect_idx_rejected(bomb, false, "but holds more");
}

TEST(ReadIdx, RejectsDamagedGzip) {
  const TempDir dir;
  const Bytes packed = gzipped(idx({3, 4, 5}, 60));
  for (size_t at = packed.size() - 8; at < packed.size() - 4; ++at) {  // the checksum
    Bytes wrong = packed;
    wrong[at] ^= 1;
    expect_idx_rejected(dir.write("wrong.gz", wrong), true, "corrupt");
  }
  expect_idx_rejected(dir.write("tail.gz", joined(packed, {1, 2, 3, 4})), true, "corrupt");
}

TEST(ReadIdx, RejectsPathsThatAreNotFiles) {
  const TempDir dir;
  expect_idx_rejected(dir / "missing.idx", true, "does not exist");
  expect_idx_rejected(dir.folder("folder.idx"), true, "not a file");
  EXPECT_FALSE(is_idx_file(dir / "missing.idx"));
  EXPECT_FALSE(is_idx_file(dir.write("short", Bytes{0, 0, 8})));
  EXPECT_FALSE(is_idx_file(dir.write("text", "0 0 8 3")));
}

TEST(WriteIdx, RoundTrips) {
  const TempDir dir;
  ImageSet set = test::image_set(2, 3, {"a", "b"}, {});
  for (int i = 0; i < 36; ++i) set.pixels.push_back(static_cast<uint8_t>(7 * i));
  write_idx_images(dir / "x-images.idx", set);
  write_idx_labels(dir / "x-labels.idx", {{"cat", "dog"}, {1, 0}});
  const PackedImages images = read_idx_images(dir / "x-images.idx");
  EXPECT_EQ(images.count, 2);
  EXPECT_EQ(images.height, 2);
  EXPECT_EQ(images.width, 3);
  EXPECT_EQ(images.channels, 3);
  EXPECT_EQ(images.bytes, set.pixels);
  EXPECT_EQ(read_idx_labels(dir / "x-labels.idx"), (Bytes{1, 0}));
  write_idx_labels(dir / "x-labels.idx", {{"cat", "dog"}, {0, 1, 1}});  // replaced
  EXPECT_EQ(read_idx_labels(dir / "x-labels.idx"), (Bytes{0, 1, 1}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 2) << "no temporary files";
}

TEST(WriteIdx, RejectsInvalidLabelsAndPaths) {
  const TempDir dir;
  const std::string below_a_file = dir.write("file", "x") + "/x-labels.idx";
  const Labels labels{{"a"}, {0}};
  const std::string message = test::message_of<InputError>([&] { write_idx_labels(below_a_file, labels); });
  EXPECT_EQ(message.find("cannot write " + below_a_file), 0u) << message;
  EXPECT_THROW(write_idx_labels(dir / "missing/x-labels.idx", labels), InputError);
  EXPECT_THROW(write_idx_labels(dir / "x-labels.idx", {{}, {256}}), InputError);
  EXPECT_FALSE(std::filesystem::exists(dir / "x-labels.idx"));
}

TEST(LabelsPathFor, FindsTheLabelsFile) {
  const struct {
    const char* images;
    const char* labels;
  } cases[] = {
      {"usps-images.idx", "usps-labels.idx"},
      {"usps-images.idx", "usps-labels.idx.gz"},
      {"usps-images.idx.gz", "usps-labels.idx"},
      {"usps-images.idx.gz", "usps-labels.idx.gz"},
      {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
      {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"},
      {"t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte"},
      {"my-images-images.idx", "my-images-labels.idx"},
  };
  for (const auto& [images, labels] : cases) {
    const TempDir dir;
    const std::string expected = dir.write(labels, "");
    EXPECT_EQ(labels_path_for(dir / images), expected) << images;
  }
}

TEST(LabelsPathFor, PrefersTheCompressionOfTheImages) {
  const TempDir dir;
  const std::string plain = dir.write("a-labels.idx", "");
  const std::string packed = dir.write("a-labels.idx.gz", "");
  EXPECT_EQ(labels_path_for(dir / "a-images.idx"), plain);
  EXPECT_EQ(labels_path_for(dir / "a-images.idx.gz"), packed);
}

TEST(LabelsPathFor, NamesTheExpectedPaths) {
  const TempDir dir;
  const std::string message = test::message_of<InputError>([&] { labels_path_for(dir / "a-images.idx"); });
  EXPECT_NE(message.find(dir / "a-labels.idx"), std::string::npos) << message;
  EXPECT_THROW(labels_path_for(dir / "digits.idx"), InputError);
}

}  // namespace
}  // namespace tributary

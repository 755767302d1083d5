#include "tributary/io/pytorch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <sstream>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::string& content) {
  try {
    PytorchFile::parse({content.begin(), content.end()}, "x.pt");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

PytorchFile parsed(const std::string& content) {
  return PytorchFile::parse({content.begin(), content.end()}, "x.pt");
}

std::string little(uint64_t value, size_t length) {
  std::string bytes;
  for (size_t i = 0; i < length; ++i, value >>= 8) bytes += static_cast<char>(value);
  return bytes;
}

std::string repeated(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Pickle opcodes.
std::string text(const std::string& value) {
  return "X" + little(value.size(), 4) + value;
}
std::string integer(int64_t value) {
  return "\x8a\x08" + little(static_cast<uint64_t>(value), 8);
}
std::string name(const std::string& module, const std::string& attribute) {
  return "c" + module + "\n" + attribute + "\n";
}
std::string tuple(const std::vector<int64_t>& values) {
  std::string items = "(";
  for (const int64_t value : values) items += integer(value);
  return items + "t";
}
std::string pickle(const std::string& instructions) {
  return "\x80\x02" + instructions + ".";
}
std::string dict_of(const std::string& key, const std::string& value) {
  return pickle("}" + text(key) + value + "s");
}

struct Storage {
  std::string type = "FloatStorage";
  std::string key = "0";
  int64_t count = 6;
  std::string rest{};  // a view, in old files
};
std::string persistent(const Storage& s) {
  return "(" + text("storage") + name("torch", s.type) + text(s.key) + text("cpu") + integer(s.count) + s.rest + "tQ";
}

struct View {
  int64_t offset = 0;
  std::vector<int64_t> shape{2, 3};
  std::vector<int64_t> strides{3, 1};
  Storage storage{};
};
const std::string kRebuild = name("torch._utils", "_rebuild_tensor_v2");
const std::string kHooks = name("collections", "OrderedDict") + ")R";

std::string tensor(const View& v = {}) {
  return kRebuild + "(" + persistent(v.storage) + integer(v.offset) + tuple(v.shape) + tuple(v.strides) + "\x89" +
         kHooks + "tR";
}

const std::string kSix = [] {
  std::string bytes;
  for (const float value : {0.F, 1.F, 2.F, 3.F, 4.F, 5.F}) {
    char four[4];
    std::memcpy(four, &value, 4);
    bytes.append(four, 4);
  }
  return bytes;
}();

// A zip archive and the offsets of its parts, so that tests can corrupt them.
struct Zip {
  std::string bytes;
  std::vector<size_t> local, data, central;
  size_t zip64_end = 0, locator = 0, end = 0;

  Zip& set(size_t at, uint64_t value, size_t length) {
    bytes.replace(at, length, little(value, length));
    return *this;
  }
  Zip& set_both(size_t entry, size_t in_local, size_t in_central, uint64_t value, size_t length) {
    return set(local[entry] + in_local, value, length).set(central[entry] + in_central, value, length);
  }
};
using Parts = std::vector<std::pair<std::string, std::string>>;

Zip zipped(const Parts& parts, bool zip64 = false) {
  Zip zip;
  for (const auto& [path, content] : parts) {
    zip.local.push_back(zip.bytes.size());
    const uint64_t sum = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::string extra =
        zip64 ? little(1, 2) + little(16, 2) + little(content.size(), 8) + little(content.size(), 8) : "";
    const uint64_t size = zip64 ? 0xffffffff : content.size();
    zip.bytes += "PK\3\4" + little(20, 2) + little(0, 8) + little(sum, 4) + little(size, 4) + little(size, 4) +
                 little(path.size(), 2) + little(extra.size(), 2) + path + extra;
    zip.data.push_back(zip.bytes.size());
    zip.bytes += content;
  }
  const size_t begin = zip.bytes.size();
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [path, content] = parts[i];
    zip.central.push_back(zip.bytes.size());
    const std::string extra = zip64 ? little(1, 2) + little(24, 2) + little(content.size(), 8) +
                                          little(content.size(), 8) + little(zip.local[i], 8)
                                    : "";
    const uint64_t size = zip64 ? 0xffffffff : content.size();
    const uint64_t sum = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    zip.bytes += "PK\1\2" + little(20, 2) + little(20, 2) + little(0, 8) + little(sum, 4) + little(size, 4) +
                 little(size, 4) + little(path.size(), 2) + little(extra.size(), 2) + little(0, 10) +
                 little(zip64 ? 0xffffffff : zip.local[i], 4) + path + extra;
  }
  const size_t length = zip.bytes.size() - begin;
  if (zip64) {
    zip.zip64_end = zip.bytes.size();
    zip.bytes += "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) + little(parts.size(), 8) +
                 little(parts.size(), 8) + little(length, 8) + little(begin, 8);
    zip.locator = zip.bytes.size();
    zip.bytes += "PK\6\7" + little(0, 4) + little(zip.zip64_end, 8) + little(1, 4);
  }
  zip.end = zip.bytes.size();
  zip.bytes += "PK\5\6" + little(0, 4) + little(zip64 ? 0xffff : parts.size(), 2) +
               little(zip64 ? 0xffff : parts.size(), 2) + little(zip64 ? 0xffffffff : length, 4) +
               little(zip64 ? 0xffffffff : begin, 4) + little(0, 2);
  return zip;
}

// A file in the zip format: the pickle `data`, and by default the storage "0" of six floats.
Zip archive(const std::string& data, Parts storages = {{"m/data/0", kSix}}, bool zip64 = false) {
  storages.insert(storages.begin(), {"m/data.pkl", data});
  storages.emplace_back("m/version", "3\n");
  return zipped(storages, zip64);
}

const std::string kMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
const std::string kVersion = pickle("M" + little(1001, 2));
const std::string kMachine = dict_of("little_endian", "\x88");
const std::string kKeys = pickle("](" + text("0") + "e");

std::string legacy(const std::string& data, const std::string& keys = kKeys,
                   const std::string& storages = little(6, 8) + kSix) {
  return kMagic + kVersion + kMachine + data + keys + storages;
}

std::vector<float> floats(const TensorEntry& entry) {
  std::vector<float> values(entry.data.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), entry.data.data(), entry.data.size());
  return values;
}

TEST(PytorchFile, ReadsBothFormats) {
  const std::string data = dict_of("w", tensor());
  EXPECT_FALSE(parsed(archive(data).bytes).legacy());
  EXPECT_TRUE(parsed(legacy(data)).legacy());
  for (const std::string& content :
       {archive(data).bytes, archive(data, {{"m/data/0", kSix}}, true).bytes, legacy(data)}) {
    EXPECT_TRUE(looks_like_pytorch_file({reinterpret_cast<const uint8_t*>(content.data()), 32}));
    PytorchFile first = parsed(content);
    const PytorchFile file = std::move(first);
    ASSERT_EQ(file.entries().size(), 1u);
    EXPECT_EQ(file.at("w").dtype, DType::F32);
    EXPECT_THAT(file.at("w").shape, ElementsAre(2, 3));
    EXPECT_THAT(floats(file.at("w")), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_TRUE(file.ignored().empty());
    EXPECT_EQ(file.find("v"), nullptr);
    EXPECT_THROW((void)file.at("v"), InputError);
  }
  const std::vector<uint8_t> picture{0x89, 'P', 'N', 'G'};
  EXPECT_FALSE(looks_like_pytorch_file(picture));
  EXPECT_FALSE(looks_like_pytorch_file({}));
}

TEST(PytorchFile, ReadsFilesOfOldVersions) {
  // Python 2: byte strings, dictionaries from lists of pairs, and tensors without "_v2" inside a Parameter.
  const std::string old = name("torch.nn.parameter", "Parameter") + name("torch._utils", "_rebuild_tensor") + "(" +
                          persistent({.rest = "N"}) + integer(0) + tuple({3, 2}) + tuple({1, 3}) + "tR\x85R(\x88\x89" +
                          kHooks + "tb";
  const std::string data = pickle(name("collections", "OrderedDict") + "(](](U\1w" + old + "eetR}b");
  EXPECT_THAT(floats(parsed(legacy(data)).at("w")), ElementsAre(0, 3, 1, 4, 2, 5));
  // A view of a storage: four elements, starting at the second.
  const std::string view = "(" + text("7") + integer(1) + integer(4) + "t";
  const std::string small =
      dict_of("w", tensor({.offset = 1, .shape = {3}, .strides = {1}, .storage = {.rest = view}}));
  EXPECT_THAT(floats(parsed(legacy(small)).at("w")), ElementsAre(2, 3, 4));
}

TEST(PytorchFile, ListsIgnoredKeys) {
  const std::string data = pickle("}(" + text("epoch") + "K\7" + text("model") + "}" + text("note") + "Ns" +
                                  text("module.w") + tensor() + "s" + text("optimizer") + "}" + integer(3) + "\x89u");
  const PytorchFile file = parsed(archive(data).bytes);
  EXPECT_EQ(file.entries().front().name, "w");
  EXPECT_THAT(file.ignored(), ElementsAre("epoch", "optimizer", "3", "model.note"));
}

struct Corrupt {
  std::string what;
  std::string content;
  std::string expected;
};

std::vector<Corrupt> corrupt_archives() {
  const Zip good = archive(dict_of("w", tensor()));
  const Zip zip64 = archive(dict_of("w", tensor()), {{"m/data/0", kSix}}, true);
  const auto corrupted = [](Zip zip, const std::function<void(Zip&)>& how) {
    how(zip);
    return zip.bytes;
  };
  const size_t directory = good.central[0];
  const std::string data = dict_of("w", tensor());
  std::vector<Corrupt> cases{
      {"a start only", "PK\3\4", "no end record"},
      {"no directory", good.bytes.substr(0, directory), "no end record"},
      {"no end record", good.bytes.substr(0, good.end), "no end record"},
      {"half an end record", good.bytes.substr(0, good.end + 11), "no end record"},
      {"a trailing byte", good.bytes + "x", "no end record"},
      {"end record twice", good.bytes + good.bytes.substr(good.end), "which should end at byte"},
      {"bytes before", "PK\3\4" + good.bytes, "which should end at byte"},
      {"a comment announced", corrupted(good, [](Zip& z) { z.set(z.end + 20, 7, 2); }), "a comment"},
      {"volume 1", corrupted(good, [](Zip& z) { z.set(z.end + 4, 1, 2); }), "several volumes"},
      {"directory in volume 1", corrupted(good, [](Zip& z) { z.set(z.end + 6, 1, 2); }), "several volumes"},
      {"two counts", corrupted(good, [](Zip& z) { z.set(z.end + 8, 2, 2); }), "two different counts"},
      {"one entry less", corrupted(good, [](Zip& z) { z.set(z.end + 8, 0x20002, 4); }), "are left over"},
      {"one entry more", corrupted(good, [](Zip& z) { z.set(z.end + 8, 0x40004, 4); }), "4 entries in a directory of"},
      {"65,535 entries", corrupted(good, [](Zip& z) { z.set(z.end + 8, 0xffffffff, 4); }),
       "65535 entries in a directory"},
      {"no entries", corrupted(good, [](Zip& z) { z.set(z.end + 8, 0, 4); }), "are left over"},
      {"directory too long", corrupted(good, [](Zip& z) { z.set(z.end + 12, 0x7fffffff, 4); }),
       "a directory of 2147483647"},
      {"directory of 4 GB", corrupted(good, [](Zip& z) { z.set(z.end + 12, 0xffffffff, 4); }),
       "a directory of 4294967295"},
      {"directory empty", corrupted(good, [](Zip& z) { z.set(z.end + 12, 0, 4); }), "a directory of 0 bytes"},
      {"directory beyond", corrupted(good, [](Zip& z) { z.set(z.end + 16, 0xfffffff0, 4); }), "at byte 4294967280"},
      {"directory at 0", corrupted(good, [](Zip& z) { z.set(z.end + 16, 0, 4); }), "which should end"},
      {"directory signature", corrupted(good, [](Zip& z) { z.set(z.central[1], 0, 4); }), "its directory is broken"},
      {"name beyond the directory", corrupted(good, [](Zip& z) { z.set(z.central[2] + 28, 0xffff, 2); }),
       "an entry of"},
      {"extra beyond the directory", corrupted(good, [](Zip& z) { z.set(z.central[2] + 30, 0xffff, 2); }),
       "an entry of"},
      {"comment beyond the directory", corrupted(good, [](Zip& z) { z.set(z.central[2] + 32, 1, 2); }), "an entry of"},
      {"a comment over the next", corrupted(good, [](Zip& z) { z.set(z.central[0] + 32, 10, 2); }),
       "its directory is broken"},
      {"entry in another volume", corrupted(good, [](Zip& z) { z.set(z.central[1] + 34, 1, 2); }), "another volume"},
      {"encrypted", corrupted(good, [](Zip& z) { z.set_both(1, 6, 8, 1, 2); }), "\"m/data/0\" is encrypted"},
      {"compressed", corrupted(good, [](Zip& z) { z.set_both(1, 8, 10, 8, 2); }),
       "\"m/data/0\" is compressed (method 8)"},
      {"compressed pickle", corrupted(good, [](Zip& z) { z.set_both(0, 8, 10, 8, 2); }),
       "\"m/data.pkl\" is compressed"},
      {"compressed here only", corrupted(good, [](Zip& z) { z.set(z.local[1] + 8, 8, 2); }), "stored differently"},
      {"compressed there only", corrupted(good, [](Zip& z) { z.set(z.central[1] + 10, 8, 2); }), "stored differently"},
      {"flags differ", corrupted(good, [](Zip& z) { z.set(z.local[1] + 6, 8, 2); }), "stored differently"},
      {"checksum", corrupted(good, [](Zip& z) { z.set_both(1, 14, 16, 1, 4); }),
       "the checksum of \"m/data/0\" is wrong"},
      {"checksum here", corrupted(good, [](Zip& z) { z.set(z.local[1] + 14, 1, 4); }), "differs in size or checksum"},
      {"checksum there", corrupted(good, [](Zip& z) { z.set(z.central[1] + 16, 1, 4); }),
       "differs in size or checksum"},
      {"a byte of a storage", corrupted(good, [](Zip& z) { z.set(z.data[1], 1, 1); }), "the checksum of \"m/data/0\""},
      {"a byte of the pickle", corrupted(good, [](Zip& z) { z.set(z.data[0] + 5, 1, 1); }),
       "the checksum of \"m/data.pkl\""},
      {"stored size there", corrupted(good, [](Zip& z) { z.set(z.central[1] + 20, 23, 4); }),
       "has 24 bytes stored as 23"},
      {"sizes there", corrupted(good, [](Zip& z) { z.set(z.central[1] + 20, 23, 4).set(z.central[1] + 24, 23, 4); }),
       "differs in size or checksum"},
      {"sizes here", corrupted(good, [](Zip& z) { z.set(z.local[1] + 18, 23, 4); }), "differs in size or checksum"},
      {"sizes of 2 GB",
       corrupted(good, [](Zip& z) { z.set_both(1, 18, 20, 0x7fffffff, 4).set_both(1, 22, 24, 0x7fffffff, 4); }),
       "\"m/data/0\" of 2147483647 bytes"},
      {"sizes over the next entry",
       corrupted(good, [](Zip& z) { z.set_both(1, 18, 20, 30, 4).set_both(1, 22, 24, 30, 4); }), "overlap"},
      {"sizes into the directory",
       corrupted(good, [](Zip& z) { z.set_both(2, 18, 20, 9, 4).set_both(2, 22, 24, 9, 4); }), "reaches beyond"},
      {"sizes that lack ZIP64", corrupted(good, [](Zip& z) { z.set(z.central[1] + 24, 0xffffffff, 4); }),
       "lacks its ZIP64"},
      {"sizes here that lack ZIP64", corrupted(good, [](Zip& z) { z.set(z.local[1] + 22, 0xffffffff, 4); }),
       "lacks its ZIP64"},
      {"offset beyond", corrupted(good, [](Zip& z) { z.set(z.central[1] + 42, 0x7fffffff, 4); }),
       "lies at byte 2147483647"},
      {"offset in the directory", corrupted(good, [](Zip& z) { z.set(z.central[1] + 42, z.central[0] - 3, 4); }),
       "lies at"},
      {"offset within an entry", corrupted(good, [](Zip& z) { z.set(z.central[1] + 42, 9, 4); }), "no entry at byte 9"},
      {"offset of another", corrupted(good, [](Zip& z) { z.set(z.central[1] + 42, 0, 4); }), "is not \"m/data/0\""},
      {"offset that lacks ZIP64", corrupted(good, [](Zip& z) { z.set(z.central[1] + 42, 0xffffffff, 4); }),
       "lacks its ZIP64"},
      {"local signature", corrupted(good, [](Zip& z) { z.set(z.local[1], 0, 4); }), "no entry at byte"},
      {"local name", corrupted(good, [](Zip& z) { z.set(z.local[1] + 30, 'M', 1); }), "is not \"m/data/0\""},
      {"local name too long", corrupted(good, [](Zip& z) { z.set(z.local[1] + 26, 0xffff, 2); }), "reaches beyond"},
      {"local extra too long", corrupted(good, [](Zip& z) { z.set(z.local[1] + 28, 0xffff, 2); }), "reaches beyond"},
      {"local extra over the next", corrupted(good, [](Zip& z) { z.set(z.local[1] + 28, 8, 2); }), "overlap"},
      {"a name twice", archive(data, {{"m/data/0", kSix}, {"m/data/0", kSix}}).bytes,
       "two entries are named \"m/data/0\""},
      {"the pickle twice", archive(data, {{"m/data.pkl", data}}).bytes, "two entries are named \"m/data.pkl\""},
      {"two pickles", archive(data, {{"n/data.pkl", data}}).bytes, "data.pkl in two folders"},
      {"an entry listed twice",
       corrupted(good,
                 [](Zip& z) { z.bytes.replace(z.central[1], 46 + 8, z.bytes.substr(z.central[0], 46) + "m/data.p"); }),
       "directory"},
      {"no pickle", zipped({{"m/version", "3"}}).bytes, "no data.pkl"},
      {"a pickle deeper", zipped({{"m/n/data.pkl", data}}).bytes, "no data.pkl"},
      {"a pickle without a folder", zipped({{"data.pkl", data}}).bytes, "no data.pkl"},
      {"TorchScript", archive(data, {{"m/constants.pkl", ""}}).bytes, "is a TorchScript archive, which is code"},
      {"big endian", archive(data, {{"m/byteorder", "big"}, {"m/data/0", kSix}}).bytes, "its byte order is \"big\""},
      {"an empty byte order", archive(data, {{"m/byteorder", ""}}).bytes, "its byte order is \"\""},
      {"no storage", archive(data, {}).bytes, "it lacks the storage 0"},
      {"storage under another key", archive(data, {{"m/data/1", kSix}}).bytes, "it lacks the storage 0"},
      {"storage in another folder", archive(data, {{"n/data/0", kSix}}).bytes, "it lacks the storage 0"},
      {"storage too short", archive(data, {{"m/data/0", kSix.substr(4)}}).bytes, "6 elements of F32 but has 20 bytes"},
      {"storage too long", archive(data, {{"m/data/0", kSix + "1234"}}).bytes, "6 elements of F32 but has 28 bytes"},
      {"half an element", archive(data, {{"m/data/0", kSix + "12"}}).bytes, "6 elements of F32 but has 26 bytes"},
      {"storage empty", archive(data, {{"m/data/0", ""}}).bytes, "6 elements of F32 but has 0 bytes"},
      {"pickle empty", archive("").bytes, "does not start with a protocol"},
      {"bytes after the pickle", archive(data + ".").bytes, "1 bytes of data.pkl are left over"},
      {"ZIP64 locator", corrupted(zip64, [](Zip& z) { z.set(z.locator, 0, 4); }), "a directory of 4294967295"},
      {"ZIP64 record elsewhere", corrupted(zip64, [](Zip& z) { z.set(z.locator + 8, 0, 8); }),
       "no ZIP64 end record at byte 0"},
      {"ZIP64 record far away", corrupted(zip64, [](Zip& z) { z.set(z.locator + 8, ~uint64_t{0}, 8); }),
       "no ZIP64 end record"},
      {"ZIP64 signature", corrupted(zip64, [](Zip& z) { z.set(z.zip64_end, 0, 4); }), "no ZIP64 end record"},
      {"ZIP64 record length", corrupted(zip64, [](Zip& z) { z.set(z.zip64_end + 4, ~uint64_t{0}, 8); }),
       "no ZIP64 end record"},
      {"ZIP64 volumes", corrupted(zip64, [](Zip& z) { z.set(z.zip64_end + 16, 1, 4); }), "several volumes"},
      {"ZIP64 two counts", corrupted(zip64, [](Zip& z) { z.set(z.zip64_end + 24, 9, 8); }), "two different counts"},
      {"ZIP64 count",
       corrupted(zip64,
                 [](Zip& z) { z.set(z.zip64_end + 24, ~uint64_t{0}, 8).set(z.zip64_end + 32, ~uint64_t{0}, 8); }),
       "18446744073709551615 entries"},
      {"ZIP64 length", corrupted(zip64, [](Zip& z) { z.set(z.zip64_end + 40, ~uint64_t{0}, 8); }), "which should end"},
      {"ZIP64 offset", corrupted(zip64, [](Zip& z) { z.set(z.zip64_end + 48, ~uint64_t{0}, 8); }), "which should end"},
      {"ZIP64 and the old record", corrupted(zip64, [](Zip& z) { z.set(z.end + 16, 5, 4); }),
       "two end records do not agree"},
      {"ZIP64 size", corrupted(zip64, [](Zip& z) { z.set(z.central[1] + 46 + 8 + 4, ~uint64_t{0}, 8); }),
       "bytes stored as 24"},
      {"ZIP64 sizes",
       corrupted(
           zip64,
           [](Zip& z) { z.set(z.central[1] + 58, ~uint64_t{0} - 4, 8).set(z.central[1] + 66, ~uint64_t{0} - 4, 8); }),
       "of 18446744073709551611 bytes"},
      {"ZIP64 position", corrupted(zip64, [](Zip& z) { z.set(z.central[1] + 74, ~uint64_t{0} - 4, 8); }),
       "lies at byte 18446744073709551611"},
      {"ZIP64 field too short", corrupted(zip64, [](Zip& z) { z.set(z.central[1] + 46 + 8 + 2, 16, 2); }),
       "lacks its ZIP64"},
      {"ZIP64 field too long", corrupted(zip64, [](Zip& z) { z.set(z.central[1] + 46 + 8 + 2, 99, 2); }),
       "lacks its ZIP64"},
      {"ZIP64 field of another kind", corrupted(zip64, [](Zip& z) { z.set(z.central[1] + 46 + 8, 2, 2); }),
       "lacks its ZIP64"},
      {"ZIP64 size here", corrupted(zip64, [](Zip& z) { z.set(z.local[1] + 30 + 8 + 4, 25, 8); }),
       "differs in size or checksum"},
  };
  return cases;
}

// Pickles that are rejected in both formats.
std::vector<Corrupt> corrupt_pickles() {
  const std::string hostile = text("echo") + "\x85R.";
  const std::string proto = "\x80\x02";
  const std::string good = tensor();
  const auto part = [](const std::string& whole, size_t length) { return "\x80\x02" + whole.substr(0, length); };
  const std::string arguments = persistent({}) + integer(0) + tuple({2, 3}) + tuple({3, 1});
  const std::string ordered = name("collections", "OrderedDict");
  std::vector<Corrupt> cases{
      {"os.system", proto + name("os", "system") + hostile,
       "x.pt: the pickle asks for os.system, which is code; save tensors and containers only"},
      {"posix.system", proto + name("posix", "system") + hostile, "asks for posix.system, which is code"},
      {"nt.system", proto + name("nt", "system") + hostile, "asks for nt.system"},
      {"builtins.eval", proto + name("builtins", "eval") + hostile, "asks for builtins.eval, which is code"},
      {"__builtin__.eval", proto + name("__builtin__", "eval") + hostile, "asks for __builtin__.eval"},
      {"builtins.exec", proto + name("builtins", "exec") + hostile, "asks for builtins.exec"},
      {"builtins.getattr", proto + name("builtins", "getattr") + hostile, "asks for builtins.getattr"},
      {"builtins.set", proto + name("builtins", "set") + ")R.", "asks for builtins.set"},
      {"subprocess.Popen", proto + name("subprocess", "Popen") + hostile, "asks for subprocess.Popen"},
      {"_codecs.encode", proto + name("_codecs", "encode") + hostile, "asks for _codecs.encode"},
      {"torch.load", proto + name("torch", "load") + hostile, "asks for torch.load"},
      {"torch.hub.load", proto + name("torch.hub", "load") + hostile, "asks for torch.hub.load"},
      {"_load_from_bytes", proto + name("torch.storage", "_load_from_bytes") + hostile,
       "asks for torch.storage._load_from_bytes"},
      {"a whole model", proto + name("torchvision.models.resnet", "ResNet") + ")\x81.",
       "asks for torchvision.models.resnet.ResNet"},
      {"numpy", proto + name("numpy.core.multiarray", "scalar") + ").", "asks for numpy.core.multiarray.scalar"},
      {"a name nearly right", proto + name("collections", "OrderedDict ") + ")R.", "asks for collections.OrderedDict "},
      {"a name of another module", proto + name("evil", "OrderedDict") + ")R.", "asks for evil.OrderedDict"},
      {"another storage", proto + name("torch", "ComplexFloatStorage") + ".", "asks for torch.ComplexFloatStorage"},
      {"a name that is empty", proto + name("", "") + ".", "asks for ., which"},
      {"a name with an escape sequence", proto + name("\x1b[2J", "x") + ".", "asks for ?[2J.x"},
      {"a very long name", proto + name(std::string(100'000, 'a'), "b") + ".", "asks for aaaa"},
      {"stack os.system", proto + text("os") + text("system") + "\x93" + hostile, "asks for os.system, which is code"},
      {"stack short os.system", proto + "\x8c\2os\x8c\6system\x93" + hostile, "asks for os.system"},
      {"stack memo eval", proto + text("builtins") + "q\0010" + text("eval") + "q\0020h\1h\2\x93" + hostile,
       "asks for builtins.eval"},
      {"stack of numbers", proto + "K\1K\2\x93.", "a name that is an integer"},
      {"stack of one text", proto + text("os") + "\x93.", "nothing on the stack"},
      {"INST os.system", proto + "(" + text("echo") + "ios\nsystem\n.", "asks for os.system, which is code"},
      {"INST of a known name", proto + "(icollections\nOrderedDict\n.", "asks for collections.OrderedDict"},
      {"INST truncated", proto + "(ios\nsys", "an unterminated name"},
      {"OBJ os.system", proto + "(" + name("os", "system") + text("echo") + "o.", "asks for os.system"},
      {"OBJ of a known name", proto + "(" + ordered + "o.", "uses the instruction OBJ, which is code"},
      {"NEWOBJ of a known name", proto + ordered + ")\x81.", "uses the instruction NEWOBJ, which is code"},
      {"NEWOBJ_EX", proto + ordered + ")}\x92.", "uses the instruction NEWOBJ_EX"},
      {"EXT1", proto + "\x82\1.", "uses the instruction EXT1, which is code"},
      {"EXT2", proto + std::string("\x83\1\0.", 4), "uses the instruction EXT2"},
      {"EXT4", proto + std::string("\x84\1\0\0\0.", 6), "uses the instruction EXT4"},
      {"PERSID", proto + "P0\n.", "the instruction PERSID"},
      {"NEXT_BUFFER", proto + "\x97.", "the instruction NEXT_BUFFER"},
      {"READONLY_BUFFER", proto + "\x98.", "the instruction READONLY_BUFFER"},
      {"a set", proto + "\x8f(K\1\x90.", "the instruction EMPTY_SET"},
      {"a frozen set", proto + "(K\1\x91.", "the instruction FROZENSET"},
      {"a number in letters", proto + "I12\n.", "the instruction INT"},
      {"a long in letters", proto + "L12L\n.", "the instruction LONG"},
      {"a float in letters", proto + "F1.5\n.", "the instruction FLOAT"},
      {"a string in letters", proto + "S'a'\n.", "the instruction STRING"},
      {"a memo in letters", proto + "g0\n.", "the instruction GET"},
      {"an unknown instruction", proto + "\xff.", "the unknown instruction 0xff"},
      {"a zero byte", proto + std::string("\0.", 2), "the unknown instruction 0x00"},
      {"no protocol", "}.", "does not start with a protocol"},
      {"protocol 0", std::string("\x80\0}.", 4), "protocol 0"},
      {"protocol 1", "\x80\1}.", "protocol 1"},
      {"protocol 6", "\x80\6}.", "protocol 6"},
      {"protocol only", "\x80\2", "1 bytes wanted, 0 left"},
      {"frame beyond", "\x80\4\x95" + little(1000, 8) + "}.", "a frame of 1000 bytes"},
      {"frame of all ones", "\x80\4\x95" + little(~uint64_t{0}, 8) + "}.", "a frame of 18446744073709551615 bytes"},
      {"STOP only", proto + ".", "nothing on the stack"},
      {"STOP with two", proto + "}}.", "1 values left over"},
      {"STOP within a mark", proto + "(}.", "0 values left over"},
      {"POP of nothing", proto + "0.", "nothing on the stack"},
      {"POP_MARK without a mark", proto + "}1.", "no mark"},
      {"DUP of nothing", proto + "2.", "nothing on the stack"},
      {"DUP across a mark", proto + "}(2.", "nothing on the stack"},
      {"TUPLE without a mark", proto + "}t.", "no mark"},
      {"TUPLE3 of two", proto + "NN\x87.", "nothing on the stack"},
      {"LIST without a mark", proto + "l.", "no mark"},
      {"DICT without a mark", proto + "d.", "no mark"},
      {"DICT of three", proto + "(NNNd.", "a key without a value"},
      {"APPEND to nothing", proto + "Na.", "nothing on the stack"},
      {"APPEND to a dictionary", proto + "}Na.", "items for a dictionary, which should be a list"},
      {"APPEND to a tuple", proto + ")Na.", "items for a tuple"},
      {"APPENDS to nothing", proto + "(Ne.", "nothing on the stack"},
      {"APPENDS across a mark", proto + "](((e.", "nothing on the stack"},
      {"SETITEM on a list", proto + "]NNs.", "items for a list, which should be a dictionary"},
      {"SETITEM of a key", proto + "}Ns.", "nothing on the stack"},
      {"SETITEMS of three", proto + "}(NNNu.", "a key without a value"},
      {"SETITEMS on None", proto + "N(NNu.", "items for None"},
      {"BUILD on a text", proto + text("a") + "}b.", "attributes for a string"},
      {"BUILD on a name", proto + ordered + "}b.", "attributes for a name"},
      {"BUILD of nothing", proto + "b.", "nothing on the stack"},
      {"BUILD on nothing", proto + "}b.", "nothing on the stack"},
      {"memo never set", proto + "h\7.", "memo 7 is not set"},
      {"long memo never set", proto + "j" + little(4'000'000'000, 4) + ".", "memo 4000000000 is not set"},
      {"memo in a gap", proto + "}q\5h\2.", "memo 2 is not set"},
      {"memo far beyond", proto + "}r" + little(4'000'000'000, 4) + ".", "memo index 4000000000"},
      {"memo of nothing", proto + "q\1.", "nothing on the stack"},
      {"MEMOIZE of nothing", proto + "\x94.", "nothing on the stack"},
      {"text beyond", proto + "X" + little(1000, 4) + "abc", "1000 bytes wanted, 3 left"},
      {"text of 4 GB", proto + "X" + little(0xffffffff, 4) + "abc.", "4294967295 bytes wanted"},
      {"text of 2^64", proto + "\x8d" + little(~uint64_t{0}, 8) + "abc.", "18446744073709551615 bytes wanted"},
      {"string of 4 GB", proto + "T" + little(0xffffffff, 4) + "abc.", "4294967295 bytes wanted"},
      {"bytes of 2^64", proto + "\x8e" + little(~uint64_t{0}, 8) + "abc.", "18446744073709551615 bytes wanted"},
      {"bytearray of 2^63", proto + "\x96" + little(uint64_t{1} << 63, 8) + "abc.", "9223372036854775808 bytes wanted"},
      {"long of ten bytes", proto + "\x8a\x0a" + std::string(10, '1') + ".", "an integer of 10 bytes"},
      {"long of 2 GB", proto + "\x8b" + little(0x7fffffff, 4) + "1.", "an integer of 2147483647 bytes"},
      {"long of negative length", proto + "\x8b" + little(0xffffffff, 4) + "1.", "an integer of 4294967295 bytes"},
      {"call of a list", proto + "])R.", "a call of a list"},
      {"call of a tensor", proto + good + ")R.", "a call of a tensor"},
      {"call of a storage type", proto + name("torch", "FloatStorage") + "K\7\x85R.", "a call of torch.FloatStorage"},
      {"call of a dtype", proto + name("torch", "float32") + ")R.", "a call of torch.float32"},
      {"call with a list", proto + ordered + "]R.", "collections.OrderedDict called with a list"},
      {"call with nothing", proto + ordered + "R.", "nothing on the stack"},
      {"OrderedDict of two", proto + ordered + "]]\x86R.", "OrderedDict called with 2 values"},
      {"OrderedDict of a text", proto + ordered + text("ab") + "\x85R.", "an OrderedDict of a string"},
      {"OrderedDict of singles", proto + ordered + "](]e\x85R.", "an OrderedDict of items that are not pairs"},
      {"a size of a list", proto + name("torch", "Size") + "]\x85R.", "a size that is a list"},
      {"a parameter of None", proto + name("torch._utils", "_rebuild_parameter") + "N\x89}\x87R.",
       "a parameter that is None"},
      {"a parameter of nothing", proto + name("torch.nn.parameter", "Parameter") + ")R.", "called with 0 values"},
      {"tensor of nothing", proto + kRebuild + ")R.", "_rebuild_tensor_v2 called with 0 values"},
      {"tensor of four", proto + kRebuild + "(" + arguments + "tR.", "called with 4 values"},
      {"tensor of eight", proto + kRebuild + "(" + arguments + "NNNNtR.", "called with 8 values"},
      {"tensor without a storage", proto + kRebuild + "(N" + integer(0) + "))NNtR.", "a tensor without a storage"},
      {"tensor with a text as offset", proto + kRebuild + "(" + persistent({}) + text("0") + "))NNtR.",
       "a tensor without"},
      {"shape a list", proto + kRebuild + "(" + persistent({}) + integer(0) + "])NNtR.", "an invalid shape"},
      {"shape of texts", proto + kRebuild + "(" + persistent({}) + integer(0) + text("a") + "\x85)NNtR.",
       "a string in a shape"},
      {"shape of floats", proto + kRebuild + "(" + persistent({}) + integer(0) + "G" + little(0, 8) + "\x85)NNtR.",
       "a float in a shape"},
      {"shape of truths", proto + kRebuild + "(" + persistent({}) + integer(0) + "\x88\x85)NNtR.",
       "a boolean in a shape"},
      {"shape of 65", proto + tensor({0, std::vector<int64_t>(65, 1), std::vector<int64_t>(65, 1), {}}) + ".",
       "an invalid shape"},
      {"shape and strides differ", proto + tensor({0, {2, 3}, {1}, {}}) + ".", "2 extents with 1 strides"},
      {"persistent id a text", proto + text("storage") + "Q.", "a persistent ID that is not a storage"},
      {"persistent id short", proto + text("storage") + "\x85Q.", "a persistent ID that is not a storage"},
      {"persistent id a module", proto + "(" + text("module") + "NNNNtQ.", "a persistent ID that is not a storage"},
      {"persistent id of nothing", proto + "Q.", "nothing on the stack"},
      {"storage of no type", proto + "(" + text("storage") + "N" + text("0") + "N" + integer(6) + "tQ.",
       "a storage without type"},
      {"storage of a dtype", proto + persistent({"float32"}) + ".", "a storage without type"},
      {"storage with a number as key",
       proto + "(" + text("storage") + name("torch", "FloatStorage") + "K\1N" + integer(6) + "tQ.", "key or count"},
      {"storage without a count", proto + "(" + text("storage") + name("torch", "FloatStorage") + text("0") + "NNtQ.",
       "key or count"},
      {"storage of negative count", proto + persistent({.count = -1}) + ".", "a storage of -1 elements"},
      {"view a text", proto + persistent({.rest = text("v")}) + ".", "an invalid view of a storage"},
      {"view too long", proto + persistent({.rest = "(" + text("v") + "K\3K\4t"}) + ".",
       "a view of 4 elements from 3 in a storage of 6"},
      {"view negative", proto + persistent({.rest = "(" + text("v") + integer(-1) + "K\4t"}) + ".", "from -1"},
      {"view of negative length", proto + persistent({.rest = "(" + text("v") + "K\1" + integer(-4) + "t"}) + ".",
       "a view of -4"},
      {"view beyond int64", proto + persistent({.rest = "(" + text("v") + "K\1" + integer(INT64_MAX) + "t"}) + ".",
       "a view of 9223372036854775807"},
      {"deep lists", proto + repeated("]", 100'000) + repeated("a", 99'999) + ".", "nested more than 100 deep"},
      {"deep marks", proto + repeated("(", 100'000) + repeated("t", 100'000) + ".", "nested more than 100 deep"},
      {"deep tuples", proto + "N" + repeated("\x85", 100'000) + ".", "nested more than 100 deep"},
      {"deep dictionaries", proto + "}" + repeated("N}", 50'000) + repeated("s", 50'000) + ".",
       "nested more than 100 deep"},
      {"marks only", proto + repeated("(", 100'000), "1 bytes wanted, 0 left"},
      {"lists without end", proto + repeated("]", 100'000), "1 bytes wanted, 0 left"},
      {"text truncated", part(text("weight"), 7), "6 bytes wanted, 2 left"},
      {"name cut in its module", part(kRebuild, 5), "an unterminated name"},
      {"name cut in its attribute", part(kRebuild, 20), "an unterminated name"},
      {"number truncated", proto + "J\1", "4 bytes wanted, 1 left"},
      {"float truncated", proto + "G\1", "8 bytes wanted, 1 left"},
      {"memo truncated", proto + "}r\1", "4 bytes wanted, 1 left"},
  };
  return cases;
}

// Valid pickles without a state dictionary, or with tensors that do not fit their storage.
std::vector<Corrupt> corrupt_values() {
  const auto view = [](View v) { return dict_of("w", tensor(v)); };
  const int64_t huge = int64_t{1} << 62;
  const std::vector<int64_t> square{int64_t{1} << 32, int64_t{1} << 32};
  return {
      {"None", pickle("N"), "x.pt contains None instead of a dictionary of tensors"},
      {"a list of tensors", pickle("](" + tensor() + "e"), "contains a list instead"},
      {"a tensor alone", pickle(tensor()), "contains a tensor instead"},
      {"an empty dictionary", pickle("}"), "has no tensors"},
      {"an epoch", dict_of("epoch", "K\7"),
       "has no tensors at the top level or under state_dict, model_state_dict, model, net, module, "
       "state_dict_ema, model_ema, ema_model, ema (its first key is epoch)"},
      {"an empty state", dict_of("state_dict", "}"), "has no tensors"},
      {"tensors elsewhere", dict_of("weights", "}" + text("w") + tensor() + "s"), "has no tensors"},
      {"a dictionary in itself", pickle("}q\1" + text("model") + "h\1s"), "has no tensors"},
      {"a tensor under a number", pickle("}" + integer(1) + tensor() + "s"), "has no tensors"},
      {"a name twice", pickle("}(" + text("w") + tensor() + text("w") + tensor() + "u"), "it holds \"w\" twice"},
      {"a name that is not UTF-8", pickle("}" + text("\xff") + tensor() + "s"), "is not UTF-8"},
      {"another key", view({.storage = {.key = "9"}}), "the storage 9"},
      {"a key that climbs", view({.storage = {.key = "../data.pkl"}}), "the storage ../data.pkl"},
      {"a count too small", view({.storage = {.count = 5}}), "should have 5 elements of F32 but has 24 bytes"},
      {"a count too large", view({.storage = {.count = 7}}), "should have 7 elements"},
      {"a count that wraps", view({.storage = {.count = huge + 6}}), "should have 4611686018427387910 elements"},
      {"a wider type", view({.storage = {.type = "DoubleStorage"}}), "F64 but has"},
      {"offset negative", view({.offset = -1}), "from element -1 lies before"},
      {"offset one too far", view({.offset = 1}), "from element 1 reaches outside its storage of 6 elements"},
      {"offset at the end", view({.offset = 6, .shape = {}, .strides = {}}), "reaches outside"},
      {"offset far", view({.offset = INT64_MAX, .shape = {}, .strides = {}}), "reaches outside"},
      {"offset that overflows", view({.offset = INT64_MAX}), "is too large for"},
      {"shape too large", view({.shape = {2, 4}, .strides = {4, 1}}), "tensor \"w\" of F32 [2, 4] with strides [4, 1]"},
      {"shape negative", view({.shape = {-2, 3}}), "negative numbers"},
      {"shape least", view({.shape = {INT64_MIN, 3}}), "negative numbers"},
      {"shape twice negative", view({.shape = {-2, -3}}), "negative numbers"},
      {"shape huge", view({.shape = {INT64_MAX}, .strides = {1}}), "is too large for"},
      {"shape that wraps to 0", view({.shape = square, .strides = {0, 0}}), "is too large for"},
      {"shape that wraps to 4", view({.shape = {huge + 1}, .strides = {0}}), "is too large for"},
      {"shape that wraps beside 0", view({.shape = {square[0], square[1], 0}, .strides = {0, 0, 0}}),
       "is too large for"},
      {"stride negative", view({.strides = {3, -1}}), "negative numbers"},
      {"stride too large", view({.strides = {4, 1}}), "reaches outside"},
      {"stride huge", view({.strides = {INT64_MAX, 1}}), "is too large for"},
      {"strides that sum beyond", view({.shape = {2, 2}, .strides = {huge, huge}}), "is too large for"},
      {"stride that wraps", view({.shape = {3, 1}, .strides = {huge, 1}}), "is too large for"},
      {"stride of all ones", view({.shape = {3}, .strides = {-1}}), "negative numbers"},
      {"expanded to 1 MB", view({.shape = {262144}, .strides = {0}}), "takes 1048576 bytes"},
      {"expanded to 4 GB", view({.shape = {1 << 30}, .strides = {0}}), "save it with .contiguous()"},
      {"expanded to 2^62", view({.shape = {int64_t{1} << 30, int64_t{1} << 30}, .strides = {0, 0}}), "save it with"},
      {"overlapping beyond the file", view({.shape = {4, 3, 1 << 20}, .strides = {1, 1, 0}}), "save it with"},
      {"many expanded",
       [] {
         std::string items = "}" + tensor({.shape = {100}, .strides = {0}}) + "q\0010(";
         for (int i = 0; i < 100; ++i) items += text("w" + std::to_string(i)) + "h\1";
         return pickle(items + "u");
       }(),
       "with the other non-contiguous tensors"},
  };
}

std::vector<Corrupt> corrupt_legacy_files() {
  const std::string data = dict_of("w", tensor());
  const std::string storage = little(6, 8) + kSix;
  return {
      {"empty", "", "neither a zip archive nor a file with PyTorch's magic number"},
      {"one byte", "\x80", "neither a zip archive"},
      {"a picture", "\x89PNG\r\n\x1a\n", "neither a zip archive"},
      {"a plain pickle", data, "neither a zip archive"},
      {"a tar", std::string(512, '0'), "neither a zip archive"},
      {"a truncated magic number", kMagic.substr(0, 14), "neither a zip archive"},
      {"another magic number", "\x80\x02\x8a\x0a" + std::string(10, '1') + ".", "neither a zip archive"},
      {"magic number only", kMagic, "does not start with a protocol"},
      {"another version", kMagic + pickle("K\7"), "its version is not 1001"},
      {"version a text", kMagic + pickle(text("1001")), "its version is not 1001"},
      {"version hostile", kMagic + pickle(name("os", "system")), "asks for os.system"},
      {"version only", kMagic + kVersion, "does not start with a protocol"},
      {"big endian", kMagic + kVersion + dict_of("little_endian", "\x89") + data, "its byte order is not little"},
      {"order unknown", kMagic + kVersion + pickle("}") + data, "its byte order is not little"},
      {"order a number", kMagic + kVersion + dict_of("little_endian", "K\1") + data, "its byte order is not little"},
      {"machine a list", kMagic + kVersion + pickle("]") + data, "its byte order is not little"},
      {"machine hostile", kMagic + kVersion + pickle(name("builtins", "eval")), "asks for builtins.eval"},
      {"machine only", kMagic + kVersion + kMachine, "does not start with a protocol"},
      {"no keys", kMagic + kVersion + kMachine + data, "does not start with a protocol"},
      {"keys a dictionary", legacy(data, pickle("}")), "no list of storages"},
      {"keys of numbers", legacy(data, pickle("](K\1e")), "a storage 1 that no tensor uses"},
      {"keys hostile", legacy(data, pickle(name("os", "system"))), "asks for os.system"},
      {"key of no tensor", legacy(data, pickle("](" + text("5") + "e")), "a storage 5 that no tensor uses"},
      {"key twice", legacy(data, pickle("](" + text("0") + text("0") + "e"), storage + storage),
       "two storages are named 0"},
      {"key missing", legacy(data, pickle("]"), ""), "it lacks the storage 0"},
      {"no storage", legacy(data, kKeys, ""), "it ends before storage 0"},
      {"half a count", legacy(data, kKeys, storage.substr(0, 7)), "it ends before storage 0"},
      {"a count only", legacy(data, kKeys, storage.substr(0, 8)), "storage 0 of 6 elements in the last 0 bytes"},
      {"storage truncated", legacy(data, kKeys, storage.substr(0, 31)), "storage 0 of 6 elements in the last 23 bytes"},
      {"a trailing byte", legacy(data, kKeys, storage + "x"), "1 bytes are left over"},
      {"count too small", legacy(data, kKeys, little(5, 8) + kSix), "4 bytes are left over"},
      {"count too small, truncated", legacy(data, kKeys, little(5, 8) + kSix.substr(4)),
       "should have 6 elements of F32 but has 20"},
      {"count too large", legacy(data, kKeys, little(7, 8) + kSix), "storage 0 of 7 elements"},
      {"count of all ones", legacy(data, kKeys, little(~uint64_t{0}, 8) + kSix), "of 18446744073709551615 elements"},
      {"count that wraps", legacy(data, kKeys, little((uint64_t{1} << 62) + 6, 8) + kSix),
       "storage 0 of 4611686018427387910"},
  };
}

void expect_rejected(const std::string& what, const std::string& content, const std::string& expected) {
  const std::string message = error_of(content);
  EXPECT_THAT(message, AllOf(StartsWith("x.pt"), HasSubstr(expected))) << what;
  EXPECT_LT(message.size(), 1000u) << what;
  EXPECT_EQ(message.find('\x1b'), std::string::npos) << what;
}

TEST(PytorchFile, RejectsCorruptFiles) {
  const auto archives = corrupt_archives();
  const auto pickles = corrupt_pickles();
  const auto values = corrupt_values();
  const auto legacies = corrupt_legacy_files();
  EXPECT_GE(archives.size() + pickles.size() + values.size() + legacies.size(), 250u);
  for (const Corrupt& c : archives) expect_rejected(c.what, c.content, c.expected);
  for (const Corrupt& c : legacies) expect_rejected(c.what, c.content, c.expected);
  for (const auto* cases : {&pickles, &values})
    for (const Corrupt& c : *cases) expect_rejected(c.what + " in a zip", archive(c.content).bytes, c.expected);
  for (const Corrupt& c : pickles)
    expect_rejected(c.what + " in the legacy format", kMagic + kVersion + kMachine + c.content, c.expected);
  for (const Corrupt& c : values) expect_rejected(c.what + " in the legacy format", legacy(c.content), "");
}

TEST(PytorchFile, BoundsTimeAndMemory) {
  EXPECT_THAT(error_of(archive(pickle(repeated("N0", 1'000'001) + "}")).bytes),
              HasSubstr("more than 2000000 instructions"));
  // Ten thousand dictionaries, each a copy of the same list of a thousand pairs.
  const std::string pairs = "](" + repeated("NN\x86", 1000) + "eq\0010";
  const std::string copies = repeated(name("collections", "OrderedDict") + "h\1\x85R0", 10'000);
  EXPECT_THAT(error_of(archive(pickle(pairs + copies + "}")).bytes), HasSubstr("more than 2000000 instructions"));
  // Tensors that share a storage are not copied.
  std::string shared = "}" + tensor() + "q\0010(";
  for (int i = 0; i < 100; ++i) shared += text("w" + std::to_string(i)) + "h\1";
  const PytorchFile file = parsed(archive(pickle(shared + "u")).bytes);
  ASSERT_EQ(file.entries().size(), 100u);
  EXPECT_EQ(file.entries().front().data.data(), file.entries().back().data.data());
}

TEST(PytorchFile, ReadsUnusualButValidFiles) {
  const auto reads = [](const View& v) { return floats(parsed(archive(dict_of("w", tensor(v))).bytes).at("w")); };
  EXPECT_THAT(reads({.shape = {3, 2}, .strides = {1, 3}}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(reads({.offset = 5, .shape = {}, .strides = {}}), ElementsAre(5));
  EXPECT_THAT(reads({.offset = 1, .shape = {2, 2}, .strides = {0, 4}}), ElementsAre(1, 5, 1, 5));
  EXPECT_THAT(reads({.shape = {1, 2}, .strides = {INT64_MAX, 4}}), ElementsAre(0, 4));
  EXPECT_THAT(reads({.offset = 9, .shape = {2, 0}, .strides = {3, 1}}), ElementsAre());
  EXPECT_THAT(reads({.shape = std::vector<int64_t>(64, 1), .strides = std::vector<int64_t>(64, 0)}), ElementsAre(0));
}

TEST(PytorchFile, SurvivesTruncationAndBitFlips) {
  const std::string data = dict_of("w", tensor({.shape = {3, 2}, .strides = {1, 3}}));
  const Zip zip64 = archive(data, {{"m/data/0", kSix}}, true);
  for (const std::string& good : {archive(data).bytes, zip64.bytes, legacy(data)}) {
    ASSERT_EQ(error_of(good), "");
    for (size_t length = 0; length < good.size(); ++length)
      EXPECT_THAT(error_of(good.substr(0, length)), StartsWith("x.pt")) << length;
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string flipped = good;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      error_of(flipped);  // rejected or read (a letter of a name, a byte of data), but no crash
    }
  }
  // Flips in the pickle itself, with a valid checksum.
  for (size_t bit = 0; bit < 8 * data.size(); ++bit) {
    std::string flipped = data;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    error_of(archive(flipped).bytes);
  }
}

TEST(PytorchFile, MatchesPyTorch) {
  const std::optional<std::string> python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  const test::TempDir folder;
  ASSERT_TRUE(test::run_python(*python, "tests/io/pytorch_reference.py", {folder.path()}));
  std::istringstream names(read_text(folder / "names.txt"));
  size_t files = 0;
  for (std::string line; std::getline(names, line); ++files) {
    SCOPED_TRACE(line);
    const PytorchFile file = PytorchFile::read(folder / (line + ".pt"));
    const SafetensorsFile expected = SafetensorsFile::read(folder / (line + ".safetensors"));
    EXPECT_EQ(file.legacy(), line.find(".legacy") != std::string::npos);
    ASSERT_EQ(file.entries().size(), expected.entries().size());
    for (const TensorEntry& want : expected.entries()) {
      const TensorEntry& got = file.at(want.name);
      EXPECT_EQ(got.dtype, want.dtype) << want.name;
      EXPECT_EQ(got.shape, want.shape) << want.name;
      EXPECT_TRUE(std::equal(got.data.begin(), got.data.end(), want.data.begin(), want.data.end())) << want.name;
    }
    std::string ignored;
    for (const std::string& entry : file.ignored()) ignored += (ignored.empty() ? "" : "\n") + entry;
    EXPECT_EQ(ignored, expected.metadata().at("ignored"));
  }
  EXPECT_EQ(files, 60u);
}

}  // namespace
}  // namespace tributary

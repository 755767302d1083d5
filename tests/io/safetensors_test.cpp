#include "tributary/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Safetensors : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }
  tributary::test::TempDir folder_;
};

template <typename Number>
std::vector<uint8_t> raw_bytes(const std::vector<Number>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(Number));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A file with any header and any number of data bytes.
std::vector<uint8_t> file_of(const std::string& header, size_t data, std::optional<uint64_t> length = {}) {
  const uint64_t claimed = length.value_or(header.size());
  std::vector<uint8_t> bytes(8);
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(claimed >> (8 * i));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.resize(bytes.size() + data, 7);
  return bytes;
}

std::string read_error(std::vector<uint8_t> bytes) {
  try {
    SafetensorsFile::parse(std::move(bytes), "x.safetensors");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_F(Safetensors, RoundTrips) {
  const auto weight = raw_bytes<float>({1, 2, 3, 4, 5, 6});
  const auto count = raw_bytes<int64_t>({-7});
  const auto mask = raw_bytes<uint8_t>({1, 0, 1});
  const std::vector<TensorEntry> entries{{"weight", DType::F32, {2, 3}, weight},
                                         {"mask", DType::BOOL, {3}, mask},
                                         {"nothing", DType::F16, {4, 0}, {}},
                                         {"count", DType::I64, {}, count}};
  write_safetensors(at("m.safetensors"), entries, {{"classes", "[\"a\"]"}, {"", "é"}});
  const SafetensorsFile file = SafetensorsFile::read(at("m.safetensors"));
  ASSERT_EQ(file.entries().size(), 4u);
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"classes", "[\"a\"]"}, {"", "é"}}));
  for (const TensorEntry& entry : entries) {
    const TensorEntry& got = file.at(entry.name);
    EXPECT_EQ(got.dtype, entry.dtype);
    EXPECT_EQ(got.shape, entry.shape);
    EXPECT_TRUE(std::equal(got.data.begin(), got.data.end(), entry.data.begin(), entry.data.end()));
  }
  EXPECT_EQ(file.find("other"), nullptr);
  EXPECT_THROW((void)file.at("other"), InputError);
}

TEST_F(Safetensors, BytesDoNotDependOnTheOrder) {
  const auto a = raw_bytes<float>({1, 2});
  const auto b = raw_bytes<uint8_t>({9});
  const auto c = raw_bytes<double>({3});
  std::vector<TensorEntry> entries{{"a", DType::F32, {2}, a}, {"b", DType::U8, {1}, b}, {"c", DType::F64, {1}, c}};
  write_safetensors(at("1"), entries);
  std::reverse(entries.begin(), entries.end());
  write_safetensors(at("2"), entries);
  EXPECT_EQ(read_file(at("1")), read_file(at("2")));
  const std::string header =
      R"({"c":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
      R"("b":{"dtype":"U8","shape":[1],"data_offsets":[16,17]}})";
  EXPECT_THAT(read_text(at("1")).substr(8), ::testing::StartsWith(header));
  EXPECT_EQ((read_file(at("1")).size() - 17) % 8, 0u);
}

TEST_F(Safetensors, MovedFilesKeepTheirTensors) {
  const auto weight = raw_bytes<float>({1.5F});
  write_safetensors(at("m"), std::vector<TensorEntry>{{"w", DType::F32, {1}, weight}});
  SafetensorsFile first = SafetensorsFile::read(at("m"));
  const SafetensorsFile second = std::move(first);
  float value = 0;
  std::memcpy(&value, second.at("w").data.data(), sizeof value);
  EXPECT_EQ(value, 1.5F);
}

TEST_F(Safetensors, ReadsFilesWithoutTensors) {
  write_safetensors(at("m"), {});
  EXPECT_TRUE(SafetensorsFile::read(at("m")).entries().empty());
  EXPECT_EQ(read_error(file_of("{}", 0)), "");
  EXPECT_EQ(read_error(file_of("{}      ", 0)), "");
}

TEST_F(Safetensors, KnowsNamesAndSizesOfTypes) {
  const std::pair<const char*, size_t> expected[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
                                                     {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  for (const auto& [name, size] : expected) {
    const std::optional<DType> dtype = dtype_named(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_EQ(name_of(*dtype), name);
    EXPECT_EQ(size_of(*dtype), size);
  }
  EXPECT_EQ(dtype_named("f32"), std::nullopt);
}

TEST_F(Safetensors, WriterRejectsInvalidEntries) {
  const auto four = raw_bytes<float>({1});
  using Entries = std::vector<TensorEntry>;
  EXPECT_THROW(write_safetensors(at("m"), Entries{{"a", DType::F32, {2}, four}}), std::logic_error);
  EXPECT_THROW(write_safetensors(at("m"), Entries{{"a", DType::F32, {-1}, four}}), std::logic_error);
  EXPECT_THROW(write_safetensors(at("m"), Entries{{"__metadata__", DType::F32, {1}, four}}), std::logic_error);
  EXPECT_THROW(write_safetensors(at("m"), Entries{{"a", DType::F32, {1}, four}, {"a", DType::F32, {1}, four}}),
               std::logic_error);
  EXPECT_THROW(write_safetensors(at("m"), {}, {{"class", "\xff"}}), InputError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Safetensors, ErrorsNameTheFileAndTheNumbers) {
  EXPECT_THAT(read_error(file_of("{}", 4086, 8589934592)),
              ::testing::StartsWith("x.safetensors is not a safetensors file (header length 8,589,934,592 but the file "
                                    "has 4,096 bytes); "));
  EXPECT_THAT(read_error(file_of(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})", 20)),
              HasSubstr("tensor \"w\" of F32 [2, 3] has 20 bytes"));
  EXPECT_THROW(SafetensorsFile::read(at("none")), InputError);
}

// The header of one tensor "w".
std::string header_entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

// The header of two U8 tensors "a" and "b".
std::string two(int a, const std::string& offsets_a, int b, const std::string& offsets_b) {
  const auto entry = [](int extent, const std::string& offsets) {
    return R"({"dtype":"U8","shape":[)" + std::to_string(extent) + R"(],"data_offsets":)" + offsets + "}";
  };
  return R"({"a":)" + entry(a, offsets_a) + R"(,"b":)" + entry(b, offsets_b) + "}";
}

struct CorruptSafetensors {
  const char* what;
  std::vector<uint8_t> bytes;
  const char* expected;
};

std::vector<CorruptSafetensors> corrupt_files() {
  const std::string good = header_entry(R"("U8")", "[4]", "[0,4]");
  const std::string kU8 = R"("U8")";
  std::string many = "[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  many += "]";
  const std::string deep(100'000, '[');
  std::string zero_byte = good;
  zero_byte += '\0';
  zero_byte += "ignored?";
  return {
      {"empty", {}, "0 bytes, too few"},
      {"seven bytes", std::vector<uint8_t>(7), "7 bytes, too few"},
      {"length only, zero", std::vector<uint8_t>(8), "does not start with {"},
      {"length only", file_of("", 0, 2), "header length 2 but the file has 8 bytes"},
      {"length one too long", file_of(good, 0, good.size() + 1), "header length"},
      {"length of the whole file", file_of(good, 4, good.size() + 12), "header length"},
      {"length all ones", file_of(good, 4, ~uint64_t{0}), "header length 18446744073709551615 but"},
      {"length that wraps with 8", file_of(good, 4, ~uint64_t{0} - 7), "header length"},
      {"length of the sign bit", file_of(good, 4, uint64_t{1} << 63), "header length"},
      {"length one too short", file_of(good, 4, good.size() - 1), "not JSON"},
      {"length too long, into the data", file_of(good, 4, good.size() + 4), "not JSON"},
      {"length zero", file_of(good, 4, 0), "does not start with {"},
      {"header beyond 100 MB", file_of(std::string(100'000'001, ' '), 0), "header length 100,000,001, more than"},
      {"a picture", file_of("\x89PNG\r\n\x1a\n", 20), "does not start with {"},
      {"a zip", {'P', 'K', 3, 4, 0, 0, 0, 0, 0, 0}, "header length"},
      {"a space first", file_of(" " + good, 4), "does not start with {"},
      {"a byte order mark", file_of("\xEF\xBB\xBF" + good, 4), "does not start with {"},
      {"a list", file_of("[]", 0), "does not start with {"},
      {"a null", file_of("null", 0), "does not start with {"},
      {"an open object", file_of("{", 0), "not JSON"},
      {"an open text", file_of("{\"w", 0), "not JSON"},
      {"two objects", file_of("{}{}", 0), "not JSON"},
      {"a comma at the end", file_of("{},", 0), "not JSON"},
      {"a comment", file_of("{/* */}", 0), "not JSON"},
      {"single quotes", file_of("{'w':1}", 0), "not JSON"},
      {"a zero byte", file_of(zero_byte, 4), "a zero byte in its header"},
      {"not UTF-8", file_of("{\"\xff\":1}", 0), "not JSON"},
      {"half a surrogate", file_of(R"({"\ud800":1})", 0), "not JSON"},
      {"deep lists", file_of("{\"w\":" + deep, 0), "an unexpected list in the header"},
      {"deep lists in a shape", file_of(header_entry(kU8, deep, "[0,4]"), 4), "an unexpected list in tensor \"w\""},
      {"an object in a tensor", file_of(header_entry("{}", "[4]", "[0,4]"), 4), "an unexpected object in tensor \"w\""},
      {"an object in a shape", file_of(header_entry(kU8, "[{}]", "[0,4]"), 4), "an unexpected object in"},
      {"a tensor that is a number", file_of("{\"w\":3}", 0), "the unexpected number 3 in the header"},
      {"a tensor that is a text", file_of("{\"w\":\"F32\"}", 0), "an unexpected string in the header"},
      {"a tensor that is null", file_of("{\"w\":null}", 0), "a null in the header"},
      {"a tensor that is true", file_of("{\"w\":true}", 0), "a boolean in the header"},
      {"a tensor without fields", file_of("{\"w\":{}}", 0), "tensor \"w\" lacks"},
      {"no dtype", file_of(R"({"w":{"shape":[4],"data_offsets":[0,4]}})", 4), "lacks dtype"},
      {"no shape", file_of(R"({"w":{"dtype":"U8","data_offsets":[0,4]}})", 4), "lacks dtype, shape"},
      {"no offsets", file_of(R"({"w":{"dtype":"U8","shape":[4]}})", 4), "or data_offsets"},
      {"an unknown field", file_of(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":"y"}})", 4),
       "an unknown field \"x\""},
      {"dtype twice", file_of(R"({"w":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4),
       "has dtype twice"},
      {"shape twice", file_of(R"({"w":{"dtype":"U8","shape":[4],"shape":[4],"data_offsets":[0,4]}})", 4),
       "has shape twice"},
      {"offsets twice", file_of(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"data_offsets":[0,4]}})", 4),
       "has data_offsets twice"},
      {"a name twice", file_of(good.substr(0, good.size() - 1) + "," + good.substr(1), 4),
       "two entries are named \"w\""},
      {"a name twice, once escaped",
       file_of(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"\u0077":)" + good.substr(5), 4),
       "two entries are named"},
      {"metadata twice", file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "two entries are named"},
      {"a metadata key twice", file_of(R"({"__metadata__":{"a":"1","a":"2"}})", 0), "the metadata holds \"a\" twice"},
      {"metadata with a number", file_of(R"({"__metadata__":{"a":1}})", 0), "the unexpected number 1 in the metadata"},
      {"metadata with a list", file_of(R"({"__metadata__":{"a":[]}})", 0), "an unexpected list in the metadata"},
      {"metadata with an object", file_of(R"({"__metadata__":{"a":{}}})", 0), "an unexpected object in the metadata"},
      {"metadata with null", file_of(R"({"__metadata__":{"a":null}})", 0), "a null in the metadata"},
      {"metadata that is a text", file_of(R"({"__metadata__":"a"})", 0), "an unexpected string in the header"},
      {"an unknown dtype", file_of(header_entry(R"("F8_E4M3")", "[4]", "[0,4]"), 4), "the unknown type \"F8_E4M3\""},
      {"dtype in small letters", file_of(header_entry(R"("u8")", "[4]", "[0,4]"), 4), "the unknown type \"u8\""},
      {"an empty dtype", file_of(header_entry(R"("")", "[4]", "[0,4]"), 4), "the unknown type \"\""},
      {"dtype a number", file_of(header_entry("1", "[4]", "[0,4]"), 4), "the unexpected number 1 in tensor \"w\""},
      {"dtype a list", file_of(header_entry("[]", "[4]", "[0,4]"), 4), "an unexpected list in tensor \"w\""},
      {"shape a number", file_of(header_entry(kU8, "4", "[0,4]"), 4), "the unexpected number 4 in"},
      {"shape a text", file_of(header_entry(kU8, R"("4")", "[0,4]"), 4), "an unexpected string in"},
      {"shape of texts", file_of(header_entry(kU8, R"(["4"])", "[0,4]"), 4), "an unexpected string in"},
      {"shape negative", file_of(header_entry(kU8, "[-4]", "[0,4]"), 4), "the negative number -4"},
      {"shape with a fraction", file_of(header_entry(kU8, "[4.0]", "[0,4]"), 4), "the number 4.0 in"},
      {"shape with an exponent", file_of(header_entry(kU8, "[4e0]", "[0,4]"), 4), "the number 4e0 in"},
      {"shape too small", file_of(header_entry(kU8, "[3]", "[0,4]"), 4), "of U8 [3] has 4 bytes"},
      {"shape too large", file_of(header_entry(kU8, "[5]", "[0,4]"), 4), "of U8 [5] has 4 bytes"},
      {"dtype too wide", file_of(header_entry(R"("F32")", "[4]", "[0,4]"), 4), "of F32 [4] has 4 bytes"},
      {"an empty shape of four bytes", file_of(header_entry(kU8, "[]", "[0,4]"), 4), "of U8 [] has 4 bytes"},
      {"an extent of zero with bytes", file_of(header_entry(kU8, "[4,0]", "[0,4]"), 4), "of U8 [4, 0] has 4 bytes"},
      {"an extent beyond int64", file_of(header_entry(kU8, "[9223372036854775808]", "[0,4]"), 4),
       "an extent of 9223372036854775808"},
      {"an extent beyond uint64", file_of(header_entry(kU8, "[18446744073709551616]", "[0,4]"), 4),
       "not an integer in range"},
      {"a product that wraps to 4", file_of(header_entry(R"("F32")", "[4611686018427387905]", "[0,4]"), 4),
       "has 4 bytes"},
      {"a product that wraps to 0", file_of(header_entry(kU8, "[4294967296,4294967296]", "[0,0]"), 0), "has 0 bytes"},
      {"a product that wraps before a zero", file_of(header_entry(kU8, "[4294967296,4294967296,0]", "[0,0]"), 0),
       "has 0 bytes"},
      {"65 extents", file_of(header_entry(kU8, many, "[0,1]"), 1), "more than 64 numbers in shape"},
      {"no offsets in the list", file_of(header_entry(kU8, "[4]", "[]"), 4), "0 data offsets instead of 2"},
      {"one offset", file_of(header_entry(kU8, "[4]", "[4]"), 4), "1 data offsets instead of 2"},
      {"three offsets", file_of(header_entry(kU8, "[4]", "[0,4,4]"), 4), "more than 2 numbers in data_offsets"},
      {"offsets negative", file_of(header_entry(kU8, "[4]", "[-4,0]"), 4), "the negative number -4"},
      {"offsets swapped", file_of(header_entry(kU8, "[4]", "[4,0]"), 4), "lies at bytes 4 to 0 of 4"},
      {"offsets beyond the end", file_of(header_entry(kU8, "[4]", "[1,5]"), 4), "lies at bytes 1 to 5 of 4"},
      {"offsets far beyond", file_of(header_entry(kU8, "[4]", "[18446744073709551611,18446744073709551615]"), 4),
       "lies at"},
      {"offsets into a truncated file", file_of(good, 3), "lies at bytes 0 to 4 of 3"},
      {"no data at all", file_of(good, 0), "lies at bytes 0 to 4 of 0"},
      {"a gap first", file_of(header_entry(kU8, "[3]", "[1,4]"), 4), "starts at byte 1 instead of 0"},
      {"a byte left over", file_of(good, 5), "its tensors end at byte 4 of 5"},
      {"data without tensors", file_of("{}", 1), "its tensors end at byte 0 of 1"},
      {"a gap between", file_of(two(2, "[0,2]", 1, "[3,4]"), 4), "\"b\" starts at byte 3 instead of 2"},
      {"an overlap", file_of(two(3, "[0,3]", 2, "[2,4]"), 4), "\"b\" starts at byte 2 instead of 3"},
      {"the same range", file_of(two(4, "[0,4]", 4, "[0,4]"), 4), "\"b\" starts at byte 0 instead of 4"},
      {"one within the other", file_of(two(4, "[0,4]", 2, "[1,3]"), 4), "\"b\" starts at byte 1 instead of 4"},
      {"an empty tensor within", file_of(two(4, "[0,4]", 0, "[2,2]"), 4), "\"b\" starts at byte 2 instead of 4"},
      {"an empty tensor beyond", file_of(two(4, "[0,4]", 0, "[5,5]"), 4), "lies at bytes 5 to 5 of 4"},
      {"a name with an escape sequence", file_of(R"({"\u001b[2J":3})", 0), "the unexpected number 3"},
  };
}

TEST_F(Safetensors, RejectsCorruptFiles) {
  const std::vector<CorruptSafetensors> cases = corrupt_files();
  EXPECT_GE(cases.size(), 60u);
  for (const CorruptSafetensors& c : cases) {
    const std::string message = read_error(c.bytes);
    EXPECT_THAT(message,
                AllOf(::testing::StartsWith("x.safetensors is not a safetensors file ("), HasSubstr(c.expected)))
        << c.what;
    EXPECT_LT(message.size(), 400u) << c.what;
    EXPECT_EQ(message.find('\x1b'), std::string::npos) << c.what;
  }
}

TEST_F(Safetensors, ReadsUnusualButValidFiles) {
  for (const std::string& header :
       {header_entry(R"("U8")", "[4]", "[0,4]"), header_entry(R"("F32")", "[]", "[0,4]"),
        header_entry(R"("F16")", "[1,2,1]", "[0,4]"), two(4, "[0,4]", 0, "[4,4]"), two(0, "[0,0]", 4, "[0,4]"),
        two(1, "[3,4]", 3, "[0,3]"),
        R"({"__metadata__":{},"":{"data_offsets":[0,4],"shape":[4],"dtype":"BOOL"}})" + std::string("   \n")})
    EXPECT_EQ(read_error(file_of(header, 4)), "") << header;
}

TEST_F(Safetensors, SurvivesTruncationAndBitFlips) {
  const auto a = raw_bytes<float>({1, 2, 3});
  const auto b = raw_bytes<uint8_t>({1, 2, 3});
  write_safetensors(at("m"), std::vector<TensorEntry>{{"a", DType::F32, {3}, a}, {"b", DType::U8, {3}, b}},
                    {{"k", "v"}});
  const std::vector<uint8_t> good = read_file(at("m"));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(read_error({good.begin(), good.begin() + static_cast<ptrdiff_t>(length)}), "") << length;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::vector<uint8_t> flipped = good;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    read_error(std::move(flipped));  // rejected or read (a letter of a name, a byte of data), but no crash
  }
}

TEST_F(Safetensors, AgreesWithTheReferenceImplementation) {
  const std::optional<std::string> python = tributary::test::python_with("numpy");
  if (!python) GTEST_SKIP() << "no python3 that imports numpy";
  const std::string script = "tests/io/safetensors_reference.py";

  ASSERT_TRUE(tributary::test::run_python(*python, script, {"write", at("theirs")}));
  const SafetensorsFile theirs = SafetensorsFile::read(at("theirs"));
  ASSERT_EQ(theirs.entries().size(), 9u);
  const TensorEntry& first = theirs.at("source.0.größe \"F64\"");
  EXPECT_EQ(first.dtype, DType::F64);
  EXPECT_EQ(first.shape, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(first.data.size(), 48u);
  std::array<double, 6> values{};
  std::memcpy(values.data(), first.data.data(), first.data.size());
  EXPECT_THAT(values, ::testing::ElementsAre(0, 1, 2, 3, 4, 5));

  write_safetensors(at("ours"), theirs.entries(), theirs.metadata());
  EXPECT_TRUE(tributary::test::run_python(*python, script, {"check", at("ours")}));
}

}  // namespace
}  // namespace tributary

#include "tributary/io/pytorch_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <future>
#include <map>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/io/pytorch_file.h"
#include "tributary/io/zip_reader.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Tensors that own their data.
struct Tensors {
  std::deque<std::vector<uint8_t>> bytes;
  std::vector<TensorEntry> entries;

  void add(std::string name, DType dtype, std::vector<int64_t> shape) {
    size_t size = size_of(dtype);
    for (const int64_t extent : shape) size *= static_cast<size_t>(extent);
    std::vector<uint8_t>& data = bytes.emplace_back(size);
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<uint8_t>(i * 37 + entries.size());
    if (dtype == DType::BOOL)
      for (uint8_t& value : data) value %= 2;
    entries.push_back({std::move(name), dtype, std::move(shape), data});
  }
};

// Every type, scalars, empty tensors, unusual names, and integers of all pickled lengths.
Tensors sample_tensors() {
  Tensors tensors;
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                            DType::I8, DType::U8, DType::BOOL})
    tensors.add("of " + std::string(name_of(dtype)), dtype, {3, 1, 5});
  tensors.add("scalar", DType::F32, {});
  tensors.add("empty", DType::F16, {4, 0, 3});
  tensors.add("empty and long", DType::I64, {3'000'000'000, 0});
  tensors.add("größe.重み.\"'\n", DType::F32, {2});
  tensors.add("", DType::U8, {70'000});
  tensors.add("a.weight", DType::F32, {300, 2});
  for (int i = 0; i < 400; ++i) tensors.add("many." + std::to_string(i), DType::F32, {i % 7});
  return tensors;
}

void expect_equal(const std::vector<TensorEntry>& got, const std::vector<TensorEntry>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].name, want[i].name);
    EXPECT_EQ(got[i].dtype, want[i].dtype) << want[i].name;
    EXPECT_EQ(got[i].shape, want[i].shape) << want[i].name;
    EXPECT_TRUE(std::equal(got[i].data.begin(), got[i].data.end(), want[i].data.begin(), want[i].data.end()))
        << want[i].name;
  }
}

// Runs a Python program given as source.
bool python_runs(const std::string& python, const std::string& program, const std::vector<std::string>& arguments) {
  std::string command = test::shell_quoted(python) + " -c " + test::shell_quoted(program);
  for (const std::string& argument : arguments) command += " " + test::shell_quoted(argument);
  return std::system(command.c_str()) == 0;
}

TEST(PytorchWriter, RoundTripsInOrder) {
  const test::TempDir folder;
  const Tensors tensors = sample_tensors();
  write_state_dict(folder / "m.pt", tensors.entries);
  const PytorchFile file = PytorchFile::read(folder / "m.pt");
  expect_equal(file.entries(), tensors.entries);
  EXPECT_FALSE(file.legacy());
  EXPECT_TRUE(file.ignored().empty());
}

TEST(PytorchWriter, BytesDependOnTheTensorsOnly) {
  const test::TempDir folder;
  write_state_dict(folder / "m.pt", sample_tensors().entries);
  write_state_dict(folder / "other name.pth", sample_tensors().entries);
  EXPECT_EQ(read_file(folder / "m.pt"), read_file(folder / "other name.pth"));
}

TEST(PytorchWriter, AlignsStoragesTo64Bytes) {
  const test::TempDir folder;
  const Tensors tensors = sample_tensors();
  write_state_dict(folder / "m.pt", tensors.entries);
  const std::vector<uint8_t> bytes = read_file(folder / "m.pt");
  const ZipReader zip(bytes, "m.pt");
  ASSERT_EQ(zip.entries().size(), tensors.entries.size() + 3);
  for (const ZipEntry& entry : zip.entries()) EXPECT_EQ((entry.stored.data() - bytes.data()) % 64, 0) << entry.name;
  const auto text = [&](const char* name) {
    const auto content = zip.content(*zip.find(name));
    return std::string(content.begin(), content.end());
  };
  EXPECT_EQ(text("archive/version"), "3\n");
  EXPECT_EQ(text("archive/byteorder"), "little");
}

TEST(PytorchWriter, RejectsInvalidEntries) {
  const test::TempDir folder;
  const auto write = [&](const std::vector<TensorEntry>& entries) { write_state_dict(folder / "m.pt", entries); };
  const std::vector<uint8_t> four(4);
  EXPECT_THROW(write({{"a", DType::F32, {1}, four}, {"a", DType::F32, {1}, four}}), std::logic_error);
  EXPECT_THROW(write({{"a", DType::F32, {2}, four}}), std::logic_error);
  EXPECT_THROW(write({{"a", DType::F32, {0}, four}}), std::logic_error);
  EXPECT_THROW(write({{"a", DType::F64, {0}, four}}), std::logic_error);
  EXPECT_THROW(write({{"a", DType::F32, {-1}, four}}), std::logic_error);
  EXPECT_THROW(write({{"a", DType::U8, {INT64_MAX, 3, 0}, {}}}), std::logic_error);
  EXPECT_THAT(test::message_of<InputError>([&] {
                write({{"\xff", DType::F32, {1}, four}});
              }),
              HasSubstr("m.pt: \"?\" is not UTF-8"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PytorchWriter, PythonReadsTheArchive) {
  const auto python = test::python_with("zipfile");
  if (!python) GTEST_SKIP() << "skipped: no python3";
  const test::TempDir folder;
  write_state_dict(folder / "m.pt", sample_tensors().entries);
  write_state_dict(folder / "none.pt", {});
  const std::string program = R"(
import sys, zipfile
for path in sys.argv[1:]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert all(i.compress_type == zipfile.ZIP_STORED and i.date_time[:3] == (1980, 1, 1) for i in archive.infolist())
)";
  EXPECT_TRUE(python_runs(*python, program, {folder / "m.pt", folder / "none.pt"}));
}

TEST(PytorchWriter, PyTorchLoadsWithWeightsOnly) {
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  const test::TempDir folder;
  const Tensors tensors = sample_tensors();
  write_state_dict(folder / "m.pt", tensors.entries);
  write_state_dict(folder / "none.pt", {});
  // Lists the loaded tensors: a line with type, shape and name, and the data.
  const std::string program = R"(
import collections, sys, torch
state = torch.load(sys.argv[1], weights_only=True)
assert type(state) is collections.OrderedDict and not torch.load(sys.argv[2], weights_only=True)
with open(sys.argv[3], "wb") as out:
    for name, t in state.items():
        assert t.is_contiguous() and not t.requires_grad and t.storage_offset() == 0
        assert t.stride() == torch.empty(t.shape, device="meta").stride(), name
        out.write(f"{str(t.dtype)[6:]} {list(t.shape)} {name}\n".encode())
        out.write((t.view(torch.int16) if t.dtype == torch.bfloat16 else t).numpy().tobytes() + b"\n")
)";
  ASSERT_TRUE(python_runs(*python, program, {folder / "m.pt", folder / "none.pt", folder / "listed"}));
  const std::map<DType, std::string> types = {
      {DType::F64, "float64"}, {DType::F32, "float32"}, {DType::F16, "float16"}, {DType::BF16, "bfloat16"},
      {DType::I64, "int64"},   {DType::I32, "int32"},   {DType::I16, "int16"},   {DType::I8, "int8"},
      {DType::U8, "uint8"},    {DType::BOOL, "bool"}};
  std::string expected;
  for (const TensorEntry& entry : tensors.entries) {
    expected += fmt::format("{} [{}] {}\n", types.at(entry.dtype), fmt::join(entry.shape, ", "), entry.name);
    expected.append(entry.data.begin(), entry.data.end());
    expected += "\n";
  }
  EXPECT_TRUE(read_text(folder / "listed") == expected);
}

// Zero-filled memory that is allocated on first write.
struct Zeros {
  explicit Zeros(size_t length)
      : size(length),
        data(static_cast<uint8_t*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  ~Zeros() { ::munmap(data, size); }
  size_t size;
  uint8_t* data;
};

// Written to a pipe, so that it needs no disk space.
TEST(PytorchWriter, UsesZip64BeyondFourGibibytes) {
  constexpr size_t kLarge = (size_t{1} << 32) + 5;
  const Zeros weights(kLarge);
  const Zeros copy(kLarge + 65536);
  ASSERT_NE(weights.data, MAP_FAILED);
  ASSERT_NE(copy.data, MAP_FAILED);
  const test::TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  auto received = std::async(std::launch::async, [&] {
    const int pipe = ::open((folder / "pipe").c_str(), O_RDONLY);
    std::vector<uint8_t> part(1 << 20);
    size_t total = 0;
    for (ssize_t got = 0; (got = ::read(pipe, part.data(), part.size())) > 0; total += static_cast<size_t>(got)) {
      const bool zeros = part[0] == 0 && std::memcmp(part.data(), part.data() + 1, static_cast<size_t>(got) - 1) == 0;
      if (!zeros) std::memcpy(copy.data + total, part.data(), static_cast<size_t>(got));
    }
    ::close(pipe);
    return total;
  });
  const std::vector<uint8_t> last{7};
  write_state_dict(folder / "pipe", std::vector<TensorEntry>{{"large", DType::U8, {kLarge}, {weights.data, kLarge}},
                                                             {"last", DType::U8, {1}, last}});
  const std::span<const uint8_t> bytes(copy.data, received.get());
  const ZipReader zip(bytes, "pipe");
  EXPECT_EQ(zip.find("archive/data/0")->stored.size(), kLarge);
  EXPECT_EQ((zip.find("archive/data/0")->stored.data() - copy.data) % 64, 0);
  EXPECT_THAT(zip.content(*zip.find("archive/data/1")), ElementsAre(7));
  EXPECT_GT(zip.find("archive/data/1")->stored.data() - copy.data, ptrdiff_t{1} << 32);
  EXPECT_EQ((zip.find("archive/data/1")->stored.data() - copy.data) % 64, 0);
}

}  // namespace
}  // namespace tributary

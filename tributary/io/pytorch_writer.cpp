#include "tributary/io/pytorch_writer.h"

#include <zlib.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/little_endian.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr std::string_view kFolder = "archive";  // PyTorch's default if it knows no file name
constexpr size_t kAlignment = 64;
constexpr uint64_t kFull16 = 0xffff;      // "see the ZIP64 record"
constexpr uint64_t kFull32 = 0xffffffff;  // "see the ZIP64 field"
constexpr uint64_t kFirstDay = 0x0021;    // 1 January 1980, so that the bytes do not depend on the clock

// A zip archive of uncompressed entries as a list of chunks; the contents are not copied.
class ZipChunks {
 public:
  // Appends an entry; its content must outlive the chunks.
  void add(std::string_view entry, Bytes content) {
    const std::string name = fmt::format("{}/{}", kFolder, entry);
    const uint64_t offset = size_;
    const uint64_t size = content.size();
    const bool large = size >= kFull32;
    const bool far = offset >= kFull32;
    const std::string sizes =
        large ? little_endian(size, 8) + little_endian(size, 8) : "";  // uncompressed and compressed size
    const std::string known = common(content, large || far) + little_endian(name.size(), 2);

    std::string extra = large ? field(1, sizes) : "";
    const uint64_t begin = offset + kLocalBytes + name.size() + extra.size() + kFieldBytes;
    extra += field(kPaddingField, std::string((kAlignment - begin % kAlignment) % kAlignment, 'Z'));
    append("PK\3\4" + known + little_endian(extra.size(), 2) + name + extra);
    append(content);

    const std::string zip64 = large || far ? field(1, sizes + (far ? little_endian(offset, 8) : "")) : "";
    directory_ += "PK\1\2" + little_endian(large || far ? kZip64Version : kVersion, 2) + known +
                  little_endian(zip64.size(), 2) + little_endian(0, 10) + little_endian(std::min(offset, kFull32), 4) +
                  name + zip64;
    ++count_;
  }

  // Returns the whole archive; call once, after the last `add`.
  const std::vector<Bytes>& finish() {
    const uint64_t begin = size_;
    const uint64_t length = directory_.size();
    append(std::move(directory_));
    if (count_ >= kFull16 || begin >= kFull32 || length >= kFull32) {
      const uint64_t end = size_;
      append("PK\6\6" + little_endian(kZip64EndBytes - 12, 8) + little_endian(kZip64Version, 2) +
             little_endian(kZip64Version, 2) + little_endian(0, 8) + little_endian(count_, 8) +
             little_endian(count_, 8) + little_endian(length, 8) + little_endian(begin, 8) + "PK\6\7" +
             little_endian(0, 4) + little_endian(end, 8) + little_endian(1, 4));
    }
    const std::string count = little_endian(std::min(count_, kFull16), 2);
    append("PK\5\6" + little_endian(0, 4) + count + count + little_endian(std::min(length, kFull32), 4) +
           little_endian(std::min(begin, kFull32), 4) + little_endian(0, 2));
    return chunks_;
  }

 private:
  static constexpr uint64_t kLocalBytes = 30;
  static constexpr uint64_t kFieldBytes = 4;  // header of an extra field
  static constexpr uint64_t kZip64EndBytes = 56;
  static constexpr uint64_t kPaddingField = 0x4246;  // "FB", as in PyTorch's files
  static constexpr uint64_t kVersion = 20;
  static constexpr uint64_t kZip64Version = 45;

  static std::string field(uint64_t id, const std::string& content) {
    return little_endian(id, 2) + little_endian(content.size(), 2) + content;
  }

  // The fields shared by local headers and the directory: version, flags, method, time, date, checksum and sizes.
  static std::string common(Bytes content, bool zip64) {
    const std::string size = little_endian(std::min<uint64_t>(content.size(), kFull32), 4);
    return little_endian(zip64 ? kZip64Version : kVersion, 2) + little_endian(0, 6) + little_endian(kFirstDay, 2) +
           little_endian(crc32_z(0, content.data(), content.size()), 4) + size + size;
  }

  void append(Bytes content) {
    chunks_.push_back(content);
    size_ += content.size();
  }
  void append(std::string text) { append(bytes_of(texts_.emplace_back(std::move(text)))); }

  std::deque<std::string> texts_;  // headers; a deque keeps their addresses
  std::vector<Bytes> chunks_;
  std::string directory_;
  uint64_t size_ = 0;
  uint64_t count_ = 0;
};

// Opcodes of pickle protocol 2, the only one that weights_only accepts.
std::string pickled(std::string_view text) {
  return fmt::format("X{}{}", little_endian(text.size(), 4), text);
}

std::string pickled(int64_t number) {  // not negative
  const auto value = static_cast<uint64_t>(number);
  if (value <= 0xff) return "K" + little_endian(value, 1);
  if (value <= 0xffff) return "M" + little_endian(value, 2);
  if (value <= 0x7fffffff) return "J" + little_endian(value, 4);
  return "\x8a\x08" + little_endian(value, 8);
}

std::string pickled(const std::vector<int64_t>& numbers) {
  std::string items = "(";
  for (const int64_t number : numbers) items += pickled(number);
  return items + "t";
}

constexpr std::string_view kEmptyDict = "ccollections\nOrderedDict\n)R";

std::string_view storage_of(DType dtype) {
  constexpr std::pair<DType, std::string_view> kStorages[] = {
      {DType::F64, "DoubleStorage"},    {DType::F32, "FloatStorage"}, {DType::F16, "HalfStorage"},
      {DType::BF16, "BFloat16Storage"}, {DType::I64, "LongStorage"},  {DType::I32, "IntStorage"},
      {DType::I16, "ShortStorage"},     {DType::I8, "CharStorage"},   {DType::U8, "ByteStorage"},
      {DType::BOOL, "BoolStorage"}};
  for (const auto& [type, name] : kStorages)
    if (type == dtype) return name;
  TRIBUTARY_CHECK(false, "no such type: {}", static_cast<int>(dtype));
}

// Calls _rebuild_tensor_v2(storage, offset, shape, strides, requires_grad=False, backward_hooks={}).
std::string pickled_tensor(const TensorEntry& entry, const std::string& key) {
  const int64_t count = static_cast<int64_t>(entry.data.size() / size_of(entry.dtype));
  std::vector<int64_t> strides(entry.shape.size());
  int64_t stride = 1;  // PyTorch treats an extent of 0 like 1 for strides
  bool empty = false;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = stride;
    empty = empty || entry.shape[d] == 0;
    TRIBUTARY_CHECK(
        entry.shape[d] >= 0 && !__builtin_mul_overflow(stride, std::max<int64_t>(entry.shape[d], 1), &stride),
        "{} has the shape [{}]", entry.name, fmt::join(entry.shape, ", "));
  }
  TRIBUTARY_CHECK(count == (empty ? 0 : stride) && entry.data.size() % size_of(entry.dtype) == 0,
                  "{} is {} [{}] but has {} bytes", entry.name, name_of(entry.dtype), fmt::join(entry.shape, ", "),
                  entry.data.size());
  const std::string storage = fmt::format("({}ctorch\n{}\n{}{}{}tQ", pickled("storage"), storage_of(entry.dtype),
                                          pickled(key), pickled("cpu"), pickled(count));
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + pickled(int64_t{0}) + pickled(entry.shape) +
         pickled(strides) + "\x89" + std::string(kEmptyDict) + "tR";
}

}  // namespace

void write_state_dict(const std::string& path, std::span<const TensorEntry> entries) {
  std::string pickle = "\x80\x02" + std::string(kEmptyDict) + "(";
  std::set<std::string_view> names;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i].name;
    TRIBUTARY_CHECK(names.insert(name).second, "two tensors are named {}", name);
    if (!is_utf8(name)) input_error("cannot write {}: \"{}\" is not UTF-8; rename it", path, printable(name));
    pickle += pickled(name) + pickled_tensor(entries[i], std::to_string(i));
  }
  pickle += "u.";

  ZipChunks zip;
  zip.add("data.pkl", bytes_of(pickle));
  zip.add("byteorder", bytes_of("little"));
  for (size_t i = 0; i < entries.size(); ++i) zip.add(fmt::format("data/{}", i), entries[i].data);
  zip.add("version", bytes_of("3\n"));
  write_file_atomically(path, zip.finish());
}

}  // namespace tributary

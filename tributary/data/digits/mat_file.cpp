#include "tributary/data/digits/mat_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/data/digits/mat_stream.h"

namespace tributary {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are in the file");

constexpr int64_t kHeaderBytes = 128;
constexpr uint32_t kMatrix = 14, kDeflated = 15;  // element types
constexpr uint32_t kCellClass = 1, kDoubleClass = 6, kSingleClass = 7, kLastNumericClass = 15;
constexpr uint32_t kComplex = 0x800;
constexpr int64_t kMaxRank = 8, kMaxName = 256;

uint32_t word(const uint8_t* bytes) {
  uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

int64_t padded(int64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

// The tag of an element; it may contain up to four bytes of data.
struct Tag {
  uint32_t type = 0;
  int64_t bytes = 0;
  bool small = false;
  std::array<uint8_t, 4> content = {};
};

Tag tag_from(const uint8_t* bytes) {
  const uint32_t first = word(bytes);
  Tag tag{first, word(bytes + 4)};
  if (first >> 16 != 0) {
    tag = {first & 0xffff, first >> 16, true};
    std::memcpy(tag.content.data(), bytes + 4, 4);
  }
  return tag;
}

Tag read_tag(MatStream& stream) {
  std::array<uint8_t, 8> bytes = {};
  stream.read(bytes.data(), 8);
  const Tag tag = tag_from(bytes.data());
  if (tag.small && tag.bytes > 4) stream.damaged("an element has an impossible length");
  return tag;
}

std::vector<uint8_t> read_content(MatStream& stream, const Tag& tag) {
  if (tag.small) return {tag.content.begin(), tag.content.begin() + tag.bytes};
  return stream.take(tag.bytes);
}

// Reads a small element in front of an array's numbers.
std::vector<uint8_t> read_detail(MatStream& stream, int64_t max_bytes) {
  const Tag tag = read_tag(stream);
  if (tag.bytes > max_bytes) stream.damaged("its description has an impossible length");
  std::vector<uint8_t> content = read_content(stream, tag);
  if (!tag.small) stream.skip(padded(tag.bytes) - tag.bytes);
  return content;
}

// Class, size and name of an array. `kind` is 0 and the rest empty for unsupported classes.
struct Description {
  uint32_t kind = 0;
  bool complex = false;
  std::vector<int64_t> sizes;
  std::string name;

  bool numeric() const { return kind >= kDoubleClass; }
};

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

// Reads the description after the tag of a matrix of `bytes` bytes.
Description read_description(MatStream& stream, int64_t bytes) {
  Description array;
  if (bytes == 0) {  // an empty cell
    array.kind = kDoubleClass;
    array.sizes = {0, 0};
    return array;
  }
  const std::vector<uint8_t> flags = read_detail(stream, 8);
  if (flags.size() != 8) stream.damaged("its description is too short");
  const uint32_t kind = word(flags.data()) & 0xff;
  if (kind != kCellClass && (kind < kDoubleClass || kind > kLastNumericClass)) return array;
  array.kind = kind;
  array.complex = (word(flags.data()) & kComplex) != 0;

  const std::vector<uint8_t> sizes = read_detail(stream, 4 * kMaxRank);
  if (sizes.size() < 8 || sizes.size() % 4 != 0) stream.damaged("its size is unreadable");
  int64_t count = 1;
  for (size_t at = 0; at < sizes.size(); at += 4) {
    const auto size = static_cast<int32_t>(word(sizes.data() + at));
    if (size < 0 || (size > 0 && count > std::numeric_limits<int64_t>::max() / 64 / size))
      stream.damaged("its size is impossible");
    array.sizes.push_back(size);
    count *= size;
  }
  const std::vector<uint8_t> name = read_detail(stream, kMaxName);
  array.name.assign(name.begin(), name.end());
  return array;
}

int64_t width_of(uint32_t type) {
  switch (static_cast<MatNumber>(type)) {
    case MatNumber::kInt8:
    case MatNumber::kUint8:
      return 1;
    case MatNumber::kInt16:
    case MatNumber::kUint16:
      return 2;
    case MatNumber::kInt32:
    case MatNumber::kUint32:
    case MatNumber::kSingle:
      return 4;
    case MatNumber::kDouble:
    case MatNumber::kInt64:
    case MatNumber::kUint64:
      return 8;
  }
  return 0;
}

void read_numbers(MatStream& stream, MatArray& array) {
  const Tag tag = read_tag(stream);
  const int64_t width = width_of(tag.type);
  if (width == 0) stream.damaged("its numbers are of an unknown type");
  if (tag.bytes != array.count() * width)
    stream.damaged(fmt::format("it holds {} bytes instead of {}", tag.bytes, array.count() * width));
  array.stored = static_cast<MatNumber>(tag.type);
  array.bytes = read_content(stream, tag);
}

template <typename Number>
double number_at(const uint8_t* bytes, int64_t index) {
  Number value = 0;
  std::memcpy(&value, bytes + index * static_cast<int64_t>(sizeof value), sizeof value);
  return static_cast<double>(value);
}

}  // namespace

int64_t MatArray::count() const {
  return product(sizes);
}

double MatArray::at(int64_t index) const {
  switch (stored) {
    case MatNumber::kInt8:
      return number_at<int8_t>(bytes.data(), index);
    case MatNumber::kUint8:
      return number_at<uint8_t>(bytes.data(), index);
    case MatNumber::kInt16:
      return number_at<int16_t>(bytes.data(), index);
    case MatNumber::kUint16:
      return number_at<uint16_t>(bytes.data(), index);
    case MatNumber::kInt32:
      return number_at<int32_t>(bytes.data(), index);
    case MatNumber::kUint32:
      return number_at<uint32_t>(bytes.data(), index);
    case MatNumber::kSingle:
      return number_at<float>(bytes.data(), index);
    case MatNumber::kDouble:
      return number_at<double>(bytes.data(), index);
    case MatNumber::kInt64:
      return number_at<int64_t>(bytes.data(), index);
    case MatNumber::kUint64:
      return number_at<uint64_t>(bytes.data(), index);
  }
  return 0;
}

MatFile::MatFile(const std::string& path) : path_(path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) input_error("{} does not exist; check the path", path);
  if (!std::filesystem::is_regular_file(path, error)) input_error("{} is not a file; name a file", path);
  file_bytes_ = static_cast<int64_t>(std::filesystem::file_size(path, error));
  file_ = open_regular(path);
  if (error || !file_) input_error("{} cannot be opened; check its permissions", path);
  check_header();
  list_entries();
}

void MatFile::check_header() {
  std::array<char, kHeaderBytes> header = {};
  file_.read(header.data(), kHeaderBytes);
  const std::string_view text(header.data(), static_cast<size_t>(file_.gcount()));
  const std::string_view end = text.substr(std::min<size_t>(text.size(), 126));
  if (end == "MI") input_error("{} is big-endian; load and save it on a little-endian machine", path_);
  if (end != "IM") input_error("{} is not a MATLAB 5 file; check that it is the right file", path_);
  if (text[125] == 2)
    input_error("{} is a MATLAB 7.3 file (HDF5), which is not supported; save it with -v7 or with SciPy", path_);
  if (text[125] != 1)
    input_error("{} has an unknown version of the MATLAB format; save it with -v7 or with SciPy", path_);
}

void MatFile::list_entries() {
  for (int64_t at = kHeaderBytes; at < file_bytes_;) {
    std::array<uint8_t, 8> bytes = {};
    file_.clear();
    file_.seekg(at);
    file_.read(reinterpret_cast<char*>(bytes.data()), 8);
    const Tag tag = tag_from(bytes.data());
    at += 8;
    if (file_.gcount() < 8 || tag.small || tag.bytes > file_bytes_ - at)
      input_error("{} ends within the array at byte {}; download or copy the file again", path_, at - 8);
    const int64_t next = at + (tag.type == kDeflated ? tag.bytes : padded(tag.bytes));
    if (tag.type == kMatrix || tag.type == kDeflated) {
      MatStream stream(file_, path_, at, tag.bytes, tag.type == kDeflated);
      const Tag inner = tag.type == kDeflated ? read_tag(stream) : tag;
      Description array;
      if (inner.type == kMatrix) array = read_description(stream, inner.bytes);
      if (!array.name.empty()) entries_.push_back({array.name, at, tag.bytes, tag.type == kDeflated});
    }
    at = next;
  }
}

std::vector<std::string> MatFile::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

bool MatFile::has(const std::string& name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&name](const Entry& entry) { return entry.name == name; });
}

MatArray MatFile::get(const MatKey& key, bool with_numbers) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&key](const Entry& candidate) { return candidate.name == key.name; });
  TRIBUTARY_CHECK(entry != entries_.end(), "no {} in {}", key.name, path_);
  MatStream stream(file_, path_, entry->at, entry->bytes, entry->deflated);
  Description found = read_description(stream, entry->deflated ? read_tag(stream).bytes : entry->bytes);
  if (key.cell >= 0) {
    if (found.kind != kCellClass || key.cell >= product(found.sizes))
      input_error("{}: {} is not a cell array of {} or more; name another file", path_, printable(key.name),
                  key.cell + 1);
    for (int64_t i = 0; i <= key.cell; ++i) {
      const Tag tag = read_tag(stream);
      if (tag.type != kMatrix || tag.small) stream.damaged("a cell is not an array");
      if (i < key.cell)
        stream.skip(tag.bytes);
      else
        found = read_description(stream, tag.bytes);
    }
  }
  if (!found.numeric() || found.complex)
    input_error("{}: {} is not an array of real numbers; name another file", path_, printable(key.name));
  MatArray array;
  array.sizes = found.sizes;
  array.floating = found.kind == kDoubleClass || found.kind == kSingleClass;
  if (with_numbers && array.count() > 0) {
    read_numbers(stream, array);
    stream.finish();
  }
  return array;
}

}  // namespace tributary

#include "tributary/io/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint64_t kLocalHeader = 0x04034b50;
constexpr uint64_t kDirectoryHeader = 0x02014b50;
constexpr uint64_t kEndRecord = 0x06054b50;
constexpr uint64_t kZip64EndRecord = 0x06064b50;
constexpr uint64_t kZip64Locator = 0x07064b50;

constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kDirectoryBytes = 46;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kZip64EndBytes = 56;
constexpr uint64_t kLocatorBytes = 20;

constexpr uint64_t kSeeZip64Count = 0xffff;  // "see the ZIP64 field"
constexpr uint64_t kSeeZip64 = 0xffffffff;   // the same
constexpr uint64_t kEncrypted = 1;           // flag
constexpr uint64_t kSizesFollow = 8;         // flag: checksum and sizes follow the data instead of the local header

template <typename... Args>
[[noreturn]] void damaged(const std::string& file, fmt::format_string<Args...> format, Args&&... args) {
  input_error("{}: damaged zip archive ({}); if the file is truncated, download or save it again", file,
              fmt::format(format, std::forward<Args>(args)...));
}

// The little-endian number of `length` bytes at `at`. The caller checks the bounds.
uint64_t number(Bytes bytes, uint64_t at, size_t length) {
  uint64_t value = 0;
  for (size_t i = 0; i < length; ++i) value |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

std::string_view text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Position of the directory and its declared number of entries.
struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

Directory find_directory(Bytes bytes, const std::string& file) {
  if (bytes.size() < kEndBytes || number(bytes, bytes.size() - kEndBytes, 4) != kEndRecord)
    damaged(file, "no end record in the last {} of its {} bytes", kEndBytes, bytes.size());
  const uint64_t end = bytes.size() - kEndBytes;
  if (number(bytes, end + 20, 2) != 0) damaged(file, "it declares a comment but has none");
  if (number(bytes, end + 4, 2) != 0 || number(bytes, end + 6, 2) != 0) damaged(file, "it has several volumes");
  if (number(bytes, end + 8, 2) != number(bytes, end + 10, 2)) damaged(file, "its end record has two different counts");

  Directory directory{number(bytes, end + 16, 4), number(bytes, end + 12, 4), number(bytes, end + 10, 2)};
  uint64_t limit = end;
  if (end >= kLocatorBytes && number(bytes, end - kLocatorBytes, 4) == kZip64Locator) {
    const uint64_t at = number(bytes, end - kLocatorBytes + 8, 8);
    if (end < kLocatorBytes + kZip64EndBytes || at != end - kLocatorBytes - kZip64EndBytes ||
        number(bytes, at, 4) != kZip64EndRecord || number(bytes, at + 4, 8) != kZip64EndBytes - 12)
      damaged(file, "no ZIP64 end record at byte {}", at);
    if (number(bytes, at + 16, 4) != 0 || number(bytes, at + 20, 4) != 0) damaged(file, "it has several volumes");
    const Directory zip64{number(bytes, at + 48, 8), number(bytes, at + 40, 8), number(bytes, at + 32, 8)};
    if (number(bytes, at + 24, 8) != zip64.count) damaged(file, "its ZIP64 end record has two different counts");
    if ((directory.offset != kSeeZip64 && directory.offset != zip64.offset) ||
        (directory.size != kSeeZip64 && directory.size != zip64.size) ||
        (directory.count != kSeeZip64Count && directory.count != zip64.count))
      damaged(file, "its two end records do not agree");
    directory = zip64;
    limit = at;
  }
  if (directory.offset > limit || directory.size != limit - directory.offset)
    damaged(file, "a directory of {} bytes at byte {}, which should end at byte {}", directory.size, directory.offset,
            limit);
  if (directory.count > directory.size / kDirectoryBytes)
    damaged(file, "{} entries in a directory of {} bytes", directory.count, directory.size);
  return directory;
}

// Replaces numbers that do not fit 32 bits by those of the ZIP64 extra field. False if they are missing.
bool read_zip64(Bytes extra, std::initializer_list<uint64_t*> numbers) {
  if (std::none_of(numbers.begin(), numbers.end(), [](const uint64_t* n) { return *n == kSeeZip64; })) return true;
  while (extra.size() >= 4) {
    const uint64_t length = number(extra, 2, 2);
    if (length > extra.size() - 4) return false;
    Bytes field = extra.subspan(4, length);
    if (number(extra, 0, 2) == 1) {
      for (uint64_t* n : numbers) {
        if (*n != kSeeZip64) continue;
        if (field.size() < 8) return false;
        *n = number(field, 0, 8);
        field = field.subspan(8);
      }
      return true;
    }
    extra = extra.subspan(4 + length);
  }
  return false;
}

// A directory entry before validation.
struct RawZipEntry {
  std::string_view name;
  uint64_t flags = 0;
  uint64_t method = 0;
  uint64_t checksum = 0;
  uint64_t stored = 0;  // bytes in the file
  uint64_t size = 0;    // bytes of the content
  uint64_t offset = 0;  // of the local header
};

// Removes the first entry from `rest`, the remaining directory.
RawZipEntry next_entry(Bytes& rest, const std::string& file) {
  if (rest.size() < kDirectoryBytes || number(rest, 0, 4) != kDirectoryHeader)
    damaged(file, "its directory is broken {} bytes before its end", rest.size());
  const uint64_t name = number(rest, 28, 2);
  const uint64_t extra = number(rest, 30, 2);
  const uint64_t length = kDirectoryBytes + name + extra + number(rest, 32, 2);
  if (length > rest.size()) damaged(file, "an entry of {} bytes in the last {} of its directory", length, rest.size());
  RawZipEntry raw{text(rest.subspan(kDirectoryBytes, name)),
                  number(rest, 8, 2),
                  number(rest, 10, 2),
                  number(rest, 16, 4),
                  number(rest, 20, 4),
                  number(rest, 24, 4),
                  number(rest, 42, 4)};
  if (number(rest, 34, 2) != 0) damaged(file, "\"{}\" lies in another volume", printable(raw.name));
  if ((raw.flags & kEncrypted) != 0) damaged(file, "\"{}\" is encrypted", printable(raw.name));
  if (!read_zip64(rest.subspan(kDirectoryBytes + name, extra), {&raw.size, &raw.stored, &raw.offset}))
    damaged(file, "\"{}\" lacks its ZIP64 sizes", printable(raw.name));
  if (raw.method == 0 && raw.stored != raw.size)
    damaged(file, "\"{}\" has {} bytes stored as {}", printable(raw.name), raw.size, raw.stored);
  rest = rest.subspan(length);
  return raw;
}

// Validates a directory entry against its local header. `bytes` is the file up to the directory.
ZipEntry validated(const RawZipEntry& raw, Bytes bytes, const std::string& file) {
  const std::string name = printable(raw.name);
  if (raw.offset > bytes.size() || bytes.size() - raw.offset < kLocalBytes)
    damaged(file, "\"{}\" lies at byte {} of {}", name, raw.offset, bytes.size());
  const Bytes header = bytes.subspan(raw.offset);
  if (number(header, 0, 4) != kLocalHeader)
    damaged(file, "no entry at byte {}, where \"{}\" should be", raw.offset, name);
  const uint64_t name_length = number(header, 26, 2);
  const uint64_t extra_length = number(header, 28, 2);
  const uint64_t begin = kLocalBytes + name_length + extra_length;
  if (begin > header.size() || raw.stored > header.size() - begin)
    damaged(file, "\"{}\" of {} bytes at byte {} reaches beyond byte {}", name, raw.stored, raw.offset, bytes.size());
  if (text(header.subspan(kLocalBytes, name_length)) != raw.name)
    damaged(file, "the entry at byte {} is not \"{}\", as the directory says", raw.offset, name);
  const uint64_t flags = number(header, 6, 2);
  if (((flags ^ raw.flags) & (kEncrypted | kSizesFollow)) != 0 || number(header, 8, 2) != raw.method)
    damaged(file, "\"{}\" is stored differently than the directory says", name);

  const uint64_t checksum = number(header, 14, 4);
  uint64_t stored = number(header, 18, 4);
  uint64_t size = number(header, 22, 4);
  const bool omitted = (flags & kSizesFollow) != 0 && checksum == 0 && (stored == 0 || stored == kSeeZip64) &&
                       (size == 0 || size == kSeeZip64);
  if (!omitted) {
    if (!read_zip64(header.subspan(kLocalBytes + name_length, extra_length), {&size, &stored}))
      damaged(file, "\"{}\" lacks its ZIP64 sizes", name);
    if (checksum != raw.checksum || stored != raw.stored || size != raw.size)
      damaged(file, "\"{}\" differs in size or checksum from the directory", name);
  }
  return {raw.name, header.subspan(begin, raw.stored), static_cast<uint32_t>(raw.checksum),
          static_cast<uint16_t>(raw.method)};
}

}  // namespace

ZipReader::ZipReader(std::span<const uint8_t> bytes, std::string file) : file_(std::move(file)) {
  const Directory directory = find_directory(bytes, file_);
  Bytes rest = bytes.subspan(directory.offset, directory.size);
  const Bytes before = bytes.first(directory.offset);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // begin and end of every entry with its header
  for (uint64_t i = 0; i < directory.count; ++i) {
    const RawZipEntry raw = next_entry(rest, file_);
    const ZipEntry entry = validated(raw, before, file_);
    if (!index_.emplace(entry.name, entries_.size()).second)
      damaged(file_, "two entries are named \"{}\"", printable(entry.name));
    entries_.push_back(entry);
    ranges.emplace_back(raw.offset, static_cast<uint64_t>(entry.stored.data() - bytes.data()) + entry.stored.size());
  }
  if (!rest.empty()) damaged(file_, "{} bytes of its directory are left over", rest.size());
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      damaged(file_, "the entries at bytes {} and {} overlap", ranges[i - 1].first, ranges[i].first);
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::span<const uint8_t> ZipReader::content(const ZipEntry& entry) const {
  if (entry.method != 0)
    input_error(
        "{}: zip entry \"{}\" is compressed (method {}), but PyTorch stores entries uncompressed; save it again "
        "with torch.save",
        file_, printable(entry.name), entry.method);
  if (crc32_z(0, entry.stored.data(), entry.stored.size()) != entry.checksum)
    damaged(file_, "the checksum of \"{}\" is wrong", printable(entry.name));
  return entry.stored;
}

}  // namespace tributary

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
constexpr uint64_t kWideEndRecord = 0x06064b50;
constexpr uint64_t kWideLocator = 0x07064b50;

constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kDirectoryBytes = 46;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kWideEndBytes = 56;
constexpr uint64_t kLocatorBytes = 20;

constexpr uint64_t kFull16 = 0xffff;      // "look in the ZIP64 field instead"
constexpr uint64_t kFull32 = 0xffffffff;  // the same
constexpr uint64_t kEncrypted = 1;        // flag
constexpr uint64_t kSizesFollow = 8;      // flag: checksum and sizes stand behind the data, not in the local header

template <typename... Args>
[[noreturn]] void damaged(const std::string& file, fmt::format_string<Args...> format, Args&&... args) {
  input_error("{}: its zip archive is damaged ({}); it may be cut short or of another kind, fetch or save it again",
              file, fmt::format(format, std::forward<Args>(args)...));
}

// The little-endian number of `length` bytes at `at`, which the caller knows to be there.
uint64_t number(Bytes bytes, uint64_t at, size_t length) {
  uint64_t value = 0;
  for (size_t i = 0; i < length; ++i) value |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

std::string_view text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Where the directory lies and how many entries it announces.
struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

Directory find_directory(Bytes bytes, const std::string& file) {
  if (bytes.size() < kEndBytes || number(bytes, bytes.size() - kEndBytes, 4) != kEndRecord)
    damaged(file, "no end record in the last {} of its {} bytes", kEndBytes, bytes.size());
  const uint64_t end = bytes.size() - kEndBytes;
  if (number(bytes, end + 20, 2) != 0) damaged(file, "it announces a comment that is not there");
  if (number(bytes, end + 4, 2) != 0 || number(bytes, end + 6, 2) != 0) damaged(file, "it has several volumes");
  if (number(bytes, end + 8, 2) != number(bytes, end + 10, 2)) damaged(file, "its end record counts in two ways");

  Directory directory{number(bytes, end + 16, 4), number(bytes, end + 12, 4), number(bytes, end + 10, 2)};
  uint64_t limit = end;
  if (end >= kLocatorBytes && number(bytes, end - kLocatorBytes, 4) == kWideLocator) {
    const uint64_t at = number(bytes, end - kLocatorBytes + 8, 8);
    if (end < kLocatorBytes + kWideEndBytes || at != end - kLocatorBytes - kWideEndBytes ||
        number(bytes, at, 4) != kWideEndRecord || number(bytes, at + 4, 8) != kWideEndBytes - 12)
      damaged(file, "no ZIP64 end record at byte {}", at);
    if (number(bytes, at + 16, 4) != 0 || number(bytes, at + 20, 4) != 0) damaged(file, "it has several volumes");
    const Directory wide{number(bytes, at + 48, 8), number(bytes, at + 40, 8), number(bytes, at + 32, 8)};
    if (number(bytes, at + 24, 8) != wide.count) damaged(file, "its ZIP64 end record counts in two ways");
    if ((directory.offset != kFull32 && directory.offset != wide.offset) ||
        (directory.size != kFull32 && directory.size != wide.size) ||
        (directory.count != kFull16 && directory.count != wide.count))
      damaged(file, "its two end records do not agree");
    directory = wide;
    limit = at;
  }
  if (directory.offset > limit || directory.size != limit - directory.offset)
    damaged(file, "a directory of {} bytes at byte {}, which should end at byte {}", directory.size, directory.offset,
            limit);
  if (directory.count > directory.size / kDirectoryBytes)
    damaged(file, "{} entries in a directory of {} bytes", directory.count, directory.size);
  return directory;
}

// Replaces the numbers that did not fit 32 bits by those of the ZIP64 extra field; false where it lacks them.
bool widen(Bytes extra, std::initializer_list<uint64_t*> numbers) {
  if (std::none_of(numbers.begin(), numbers.end(), [](const uint64_t* n) { return *n == kFull32; })) return true;
  while (extra.size() >= 4) {
    const uint64_t length = number(extra, 2, 2);
    if (length > extra.size() - 4) return false;
    Bytes field = extra.subspan(4, length);
    if (number(extra, 0, 2) == 1) {
      for (uint64_t* n : numbers) {
        if (*n != kFull32) continue;
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

// An entry as the directory describes it, not yet believed.
struct Claim {
  std::string_view name;
  uint64_t flags = 0;
  uint64_t method = 0;
  uint64_t checksum = 0;
  uint64_t stored = 0;  // bytes in the file
  uint64_t size = 0;    // bytes of the content
  uint64_t offset = 0;  // of the local header
};

// Takes the first claim from `rest`, what is left of the directory.
Claim next_claim(Bytes& rest, const std::string& file) {
  if (rest.size() < kDirectoryBytes || number(rest, 0, 4) != kDirectoryHeader)
    damaged(file, "its directory is broken {} bytes before its end", rest.size());
  const uint64_t name = number(rest, 28, 2);
  const uint64_t extra = number(rest, 30, 2);
  const uint64_t length = kDirectoryBytes + name + extra + number(rest, 32, 2);
  if (length > rest.size()) damaged(file, "an entry of {} bytes in the last {} of its directory", length, rest.size());
  Claim claim{text(rest.subspan(kDirectoryBytes, name)),
              number(rest, 8, 2),
              number(rest, 10, 2),
              number(rest, 16, 4),
              number(rest, 20, 4),
              number(rest, 24, 4),
              number(rest, 42, 4)};
  if (number(rest, 34, 2) != 0) damaged(file, "\"{}\" lies in another volume", printable(claim.name));
  if ((claim.flags & kEncrypted) != 0) damaged(file, "\"{}\" is encrypted", printable(claim.name));
  if (!widen(rest.subspan(kDirectoryBytes + name, extra), {&claim.size, &claim.stored, &claim.offset}))
    damaged(file, "\"{}\" lacks its ZIP64 sizes", printable(claim.name));
  if (claim.method == 0 && claim.stored != claim.size)
    damaged(file, "\"{}\" has {} bytes stored as {}", printable(claim.name), claim.size, claim.stored);
  rest = rest.subspan(length);
  return claim;
}

// Checks a claim against the entry's own header. `bytes` is the file up to the directory.
ZipEntry believe(const Claim& claim, Bytes bytes, const std::string& file) {
  const std::string name = printable(claim.name);
  if (claim.offset > bytes.size() || bytes.size() - claim.offset < kLocalBytes)
    damaged(file, "\"{}\" lies at byte {} of {}", name, claim.offset, bytes.size());
  const Bytes header = bytes.subspan(claim.offset);
  if (number(header, 0, 4) != kLocalHeader)
    damaged(file, "no entry at byte {}, where \"{}\" should be", claim.offset, name);
  const uint64_t name_length = number(header, 26, 2);
  const uint64_t extra_length = number(header, 28, 2);
  const uint64_t begin = kLocalBytes + name_length + extra_length;
  if (begin > header.size() || claim.stored > header.size() - begin)
    damaged(file, "\"{}\" of {} bytes at byte {} reaches beyond byte {}", name, claim.stored, claim.offset,
            bytes.size());
  if (text(header.subspan(kLocalBytes, name_length)) != claim.name)
    damaged(file, "the entry at byte {} is not \"{}\", as the directory says", claim.offset, name);
  const uint64_t flags = number(header, 6, 2);
  if (((flags ^ claim.flags) & (kEncrypted | kSizesFollow)) != 0 || number(header, 8, 2) != claim.method)
    damaged(file, "\"{}\" is stored in another way than the directory says", name);

  const uint64_t checksum = number(header, 14, 4);
  uint64_t stored = number(header, 18, 4);
  uint64_t size = number(header, 22, 4);
  const bool unsaid = (flags & kSizesFollow) != 0 && checksum == 0 && (stored == 0 || stored == kFull32) &&
                      (size == 0 || size == kFull32);
  if (!unsaid) {
    if (!widen(header.subspan(kLocalBytes + name_length, extra_length), {&size, &stored}))
      damaged(file, "\"{}\" lacks its ZIP64 sizes", name);
    if (checksum != claim.checksum || stored != claim.stored || size != claim.size)
      damaged(file, "\"{}\" has another size or checksum than the directory says", name);
  }
  return {claim.name, header.subspan(begin, claim.stored), static_cast<uint32_t>(claim.checksum),
          static_cast<uint16_t>(claim.method)};
}

}  // namespace

ZipReader::ZipReader(std::span<const uint8_t> bytes, std::string file) : file_(std::move(file)) {
  const Directory directory = find_directory(bytes, file_);
  Bytes rest = bytes.subspan(directory.offset, directory.size);
  const Bytes before = bytes.first(directory.offset);
  std::vector<std::pair<uint64_t, uint64_t>> places;  // begin and end of every entry with its header
  for (uint64_t i = 0; i < directory.count; ++i) {
    const Claim claim = next_claim(rest, file_);
    const ZipEntry entry = believe(claim, before, file_);
    if (!index_.emplace(entry.name, entries_.size()).second)
      damaged(file_, "two entries are named \"{}\"", printable(entry.name));
    entries_.push_back(entry);
    places.emplace_back(claim.offset, static_cast<uint64_t>(entry.stored.data() - bytes.data()) + entry.stored.size());
  }
  if (!rest.empty()) damaged(file_, "{} bytes of its directory are left over", rest.size());
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second)
      damaged(file_, "the entries at bytes {} and {} overlap", places[i - 1].first, places[i].first);
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::span<const uint8_t> ZipReader::content(const ZipEntry& entry) const {
  if (entry.method != 0)
    input_error(
        "{}: its zip entry \"{}\" is compressed (method {}), which PyTorch's never are; save it again with "
        "torch.save",
        file_, printable(entry.name), entry.method);
  if (crc32_z(0, entry.stored.data(), entry.stored.size()) != entry.checksum)
    damaged(file_, "the checksum of \"{}\" is wrong", printable(entry.name));
  return entry.stored;
}

}  // namespace tributary

#include "tributary/data/archive/tar_header.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

struct Field {
  size_t offset, size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSizeField{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kType{156, 1}, kMagic{257, 6}, kVersion{263, 2}, kPrefix{345, 155};
constexpr std::string_view kUstar{"ustar\0", 6};

// The text of a field up to the first zero byte.
std::string_view text_of(std::span<const uint8_t> block, Field field) {
  const std::string_view bytes(reinterpret_cast<const char*>(block.data()) + field.offset, field.size);
  return bytes.substr(0, bytes.find('\0'));
}

// Parses octal digits, or GNU's binary format for large numbers (first bit set). nullopt if invalid or above 63 bits.
std::optional<int64_t> number_of(std::span<const uint8_t> block, Field field) {
  const auto bytes = block.subspan(field.offset, field.size);
  if (bytes[0] >= 0x80) {
    if (bytes[0] != 0x80) return std::nullopt;  // negative, or too large
    uint64_t value = 0;
    for (const uint8_t byte : bytes.subspan(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | byte;
    }
    return static_cast<int64_t>(value);
  }
  std::string_view text = text_of(block, field);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  while (text.ends_with(' ')) text.remove_suffix(1);
  int64_t value = 0;  // 12 digits of 3 bits at most
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = 8 * value + (c - '0');
  }
  return value;
}

// The sum of all bytes; the checksum field counts as spaces.
int64_t checksum_of(std::span<const uint8_t> block) {
  int64_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i) sum += i - kChecksum.offset < kChecksum.size ? uint8_t{' '} : block[i];
  return sum;
}

TarHeader::Kind kind_of(char type, const std::string& name, const TarPosition& position) {
  using Kind = TarHeader::Kind;
  switch (type) {
    case '\0':
    case '0':
    case '7':
      return Kind::kRegular;
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case 'V':
      return Kind::kWithoutContent;
    case 'L':
      return Kind::kLongName;
    case 'K':
      return Kind::kLongLink;
    case 'x':
      return Kind::kPax;
    case 'g':
      return Kind::kPaxGlobal;
    case 'S':
      input_error("{}: {} is a sparse file, which shards do not support; pack it without --sparse", position.file,
                  printable(name));
    case 'M':
      input_error("{}: {} starts in another archive; join the parts first", position.file, printable(name));
    default:
      input_error("{}: {} has the unknown type {}; pack regular files only", position.file, printable(name),
                  printable(std::string_view(&type, 1)));
  }
}

std::string full_name(std::span<const uint8_t> block) {
  const std::string_view name = text_of(block, kName);
  // GNU tar uses the bytes of ustar's name prefix differently.
  const std::string_view magic(reinterpret_cast<const char*>(block.data()) + kMagic.offset, kMagic.size);
  const std::string_view prefix = magic == kUstar ? text_of(block, kPrefix) : std::string_view();
  return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
}

[[noreturn]] void bad_pax(const TarPosition& position) {
  input_error("{}: the additional header at byte {} is damaged; copy or pack the file again", position.file,
              position.offset);
}

}  // namespace

std::optional<TarHeader> parse_tar_header(std::span<const uint8_t> block, const TarPosition& position) {
  TRIBUTARY_CHECK(static_cast<int64_t>(block.size()) == kTarBlock, "a header of {} bytes", block.size());
  if (std::all_of(block.begin(), block.end(), [](uint8_t byte) { return byte == 0; })) return std::nullopt;
  if (number_of(block, kChecksum) != checksum_of(block)) {
    if (position.offset == 0) input_error("{} is not a tar archive; name shards, or pack it again", position.file);
    input_error("{}: the header at byte {} has a wrong checksum; copy or pack the file again", position.file,
                position.offset);
  }
  TarHeader header;
  header.name = full_name(block);
  header.kind = kind_of(static_cast<char>(block[kType.offset]), header.name, position);
  const auto size = number_of(block, kSizeField);
  if (!size)
    input_error("{}: the header of {} has no size; copy or pack the file again", position.file, printable(header.name));
  header.size = *size;
  return header;
}

PaxRecords parse_pax(std::string_view text, const TarPosition& position) {
  PaxRecords records;
  while (!text.empty()) {
    size_t length = 0, digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
      length = 10 * length + static_cast<size_t>(text[digits] - '0');
      if (length > text.size()) bad_pax(position);
    }
    // The shortest record is "5 k=\n".
    if (digits == 0 || length < digits + 4 || text[digits] != ' ' || text[length - 1] != '\n') bad_pax(position);
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) bad_pax(position);
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key.starts_with("GNU.sparse."))
      input_error("{}: the file at byte {} is sparse, which shards do not support; pack it without --sparse",
                  position.file, position.offset);
    if (key == "path") records.path = value;
    if (key != "size") continue;
    int64_t size = 0;
    if (value.empty() || value.size() > 18) bad_pax(position);
    for (const char c : value) {
      if (c < '0' || c > '9') bad_pax(position);
      size = 10 * size + (c - '0');
    }
    records.size = size;
  }
  return records;
}

std::string tar_header(std::string_view name, int64_t size, TarWritten kind) {
  TRIBUTARY_CHECK(name.size() <= kName.size && size >= 0 && size < int64_t{1} << 33, "{} of {} bytes", name, size);
  std::string block(kTarBlock, '\0');
  const auto put = [&block](Field field, std::string_view text) { block.replace(field.offset, text.size(), text); };
  put(kName, name);
  put(kMode, "0000644");
  put(kUser, "0000000");
  put(kGroup, "0000000");
  put(kSizeField, fmt::format("{:011o}", size));
  put(kTime, "00000000000");
  put(kType, std::string(1, static_cast<char>(kind)));
  put(kMagic, kUstar);
  put(kVersion, "00");
  const int64_t sum = checksum_of({reinterpret_cast<const uint8_t*>(block.data()), block.size()});
  put(kChecksum, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return block;
}

std::string pax_record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;  // space, equals sign and newline
  size_t length = rest + std::to_string(rest).size();
  length = rest + std::to_string(length).size();  // its own digits may add one
  return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace tributary

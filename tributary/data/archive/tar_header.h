// Parses and writes tar headers: the 512 bytes before every member, and pax records.
//
// Supports ustar (POSIX 1988), pax (POSIX 2001, Python's default) and GNU tar. Archives are untrusted: numbers and
// checksums are validated here, sizes in tar_file.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tributary {

constexpr int64_t kTarBlock = 512;  // alignment of headers and contents

// For error messages.
struct TarPosition {
  const std::string& file;
  int64_t offset;
};

struct TarHeader {
  // Links, folders and devices have no content.
  enum class Kind { kRegular, kWithoutContent, kLongName, kLongLink, kPax, kPaxGlobal };

  Kind kind = Kind::kRegular;
  std::string name;
  int64_t size = 0;  // bytes of content after the header
};

// Parses a header of kTarBlock bytes; nullopt if the block is all zeros, the end marker. Throws an InputError if the
// header is invalid, or for sparse files and parts of multi-volume archives.
std::optional<TarHeader> parse_tar_header(std::span<const uint8_t> block, const TarPosition& position);

// Overrides of a pax header for the next member.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<int64_t> size;
};

// Parses records "LENGTH KEY=VALUE\n". Other keys are ignored; those of sparse files throw an InputError.
PaxRecords parse_pax(std::string_view text, const TarPosition& position);

// Writes the header of a regular file or of pax records. Times, owners and permissions are constant, so that the bytes
// are deterministic. `name` has at most 100 bytes.
enum class TarWritten : char { kRegular = '0', kPax = 'x' };
std::string tar_header(std::string_view name, int64_t size, TarWritten kind);

std::string pax_record(std::string_view key, std::string_view value);

}  // namespace tributary

// The headers of a tar archive: the 512 bytes before every member, and the records that pax adds to them.
//
// Three dialects are in use, and all of them are understood: ustar (POSIX 1988), pax (POSIX 2001, what Python writes)
// and GNU. An archive is untrusted: numbers and checksums are checked here, sizes against the file by tar_file.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tributary {

constexpr int64_t kTarBlock = 512;  // headers and contents begin at multiples of it

// Where in which file, for messages.
struct TarPlace {
  const std::string& file;
  int64_t offset;
};

struct TarHeader {
  // What a member is. Links, folders and devices have no content of their own.
  enum class Kind { kRegular, kWithoutContent, kLongName, kLongLink, kPax, kPaxGlobal };

  Kind kind = Kind::kRegular;
  std::string name;
  int64_t size = 0;  // bytes of content behind the header
};

// Reads a header of kTarBlock bytes; nothing where the block is all zeros, which ends an archive. InputError if it is
// no header, is damaged or is of a kind whose content is not simply the file's: sparse files and parts of other
// archives.
std::optional<TarHeader> parse_tar_header(std::span<const uint8_t> block, const TarPlace& place);

// What a pax header changes about the member behind it.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<int64_t> size;
};

// Reads records of the form "LENGTH KEY=VALUE\n". Keys that are none of ours are left out; those of sparse files are an
// InputError.
PaxRecords parse_pax(std::string_view text, const TarPlace& place);

// A header of a regular file, and one for pax records behind it: as GNU tar and Python write them, but with no time, no
// owner and no rights that could differ between two machines. Names of up to 100 bytes.
enum class TarWritten : char { kRegular = '0', kPax = 'x' };
std::string tar_header(std::string_view name, int64_t size, TarWritten kind);

// One pax record.
std::string pax_record(std::string_view key, std::string_view value);

}  // namespace tributary

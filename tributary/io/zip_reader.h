// Reads and validates zip archives in memory, the container of PyTorch files.
//
// PyTorch stores entries uncompressed, so their content is a range of the file and nothing is copied. Files are
// untrusted: the directory must end at the end record, every entry must be in front of the directory, match its local
// header and not overlap another, and names must be unique. ZIP64 is supported, since PyTorch uses it beyond 4 GB.
// PyTorch never writes comments, several volumes or encryption, so these are errors.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

struct ZipEntry {
  std::string_view name;
  std::span<const uint8_t> stored;  // the content if `method` is 0; see ZipReader::content
  uint32_t checksum = 0;
  uint16_t method = 0;
};

// A view of the bytes, which must outlive it.
class ZipReader {
 public:
  // Validates the whole directory; throws an InputError that names `file`.
  ZipReader(std::span<const uint8_t> bytes, std::string file);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // in the order of the directory
  const ZipEntry* find(std::string_view name) const;                 // null if there is none

  // Verifies the checksum and returns the content. Throws an InputError for compressed entries.
  std::span<const uint8_t> content(const ZipEntry& entry) const;

 private:
  std::string file_;
  std::vector<ZipEntry> entries_;
  std::map<std::string_view, size_t> index_;
};

}  // namespace tributary

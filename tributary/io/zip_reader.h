// Zip archives in memory: the container of PyTorch's checkpoint files, read without believing it.
//
// PyTorch stores its entries uncompressed, so an entry's content is a range of the file and nothing is copied. Files
// come from strangers: the directory must end where the end record begins, every entry must lie before the directory,
// agree with its own local header and overlap no other, and no name occurs twice. ZIP64 numbers are read, as PyTorch
// writes them for files beyond 4 GB. Archives with a comment, in several volumes or encrypted are not PyTorch's.
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
  std::span<const uint8_t> stored;  // the content where `method` is 0; see ZipReader::content
  uint32_t checksum = 0;
  uint16_t method = 0;
};

// A view of bytes that live elsewhere and must outlive it.
class ZipReader {
 public:
  // Checks the whole directory; an InputError names `file` and says what is wrong with it.
  ZipReader(std::span<const uint8_t> bytes, std::string file);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // in the order of the directory
  const ZipEntry* find(std::string_view name) const;                 // null where there is none

  // The entry's content, once its checksum is found right; an InputError for a compressed entry.
  std::span<const uint8_t> content(const ZipEntry& entry) const;

 private:
  std::string file_;
  std::vector<ZipEntry> entries_;
  std::map<std::string_view, size_t> index_;
};

}  // namespace tributary

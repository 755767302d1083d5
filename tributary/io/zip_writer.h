// Writes zip archives of uncompressed entries, the container of PyTorch's and NumPy's files.
//
// Entries are aligned to 64 bytes for mmap, as in PyTorch; archives beyond 4 GiB use ZIP64. The bytes depend on the
// entries only, not on the clock.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

class ZipWriter {
 public:
  // `folder`, such as "archive/", stands in front of all names; it may be empty.
  explicit ZipWriter(std::string folder = "") : folder_(std::move(folder)) {}

  // Appends an entry; its content must outlive the chunks.
  void add(std::string_view entry, std::span<const uint8_t> content);

  // Returns the whole archive as a list of chunks; call once, after the last `add`.
  const std::vector<std::span<const uint8_t>>& finish();

 private:
  void append(std::span<const uint8_t> content);
  void append(std::string text);

  std::string folder_;
  std::deque<std::string> texts_;  // headers; a deque keeps their addresses
  std::vector<std::span<const uint8_t>> chunks_;
  std::string directory_;
  uint64_t size_ = 0;
  uint64_t count_ = 0;
};

}  // namespace tributary

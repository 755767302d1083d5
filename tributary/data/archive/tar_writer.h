// Writes deterministic tar archives, without times and owners.
//
// The format is ustar, with pax headers for names that are too long or not ASCII. GNU tar and Python's tarfile read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tributary/base/files.h"

namespace tributary {

class TarWriter {
 public:
  explicit TarWriter(const std::string& path) : file_(path) {}

  void add(std::string_view name, std::span<const uint8_t> content);
  void add(std::string_view name, std::string_view content);
  // Bytes written so far.
  int64_t size() const { return size_; }

  // Writes the end marker. The archive appears at its path after `commit`; without it, the file is removed.
  void finish();
  void commit() { file_.commit(); }

 private:
  void write(std::string_view bytes);

  PendingFile file_;
  std::string buffer_;  // collects small writes
  int64_t size_ = 0;
};

}  // namespace tributary

// Writes a tar archive that depends on names and contents alone: no times, no owners.
//
// ustar, with a pax header before a name that ustar has no room or no letters for; GNU tar and Python's tarfile read
// it.
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
  // Bytes of the archive so far.
  int64_t size() const { return size_; }

  // Ends the archive, which then lies beside its place until it is placed there; one that never is leaves nothing.
  void finish();
  void commit() { file_.commit(); }

 private:
  void write(std::string_view bytes);

  PendingFile file_;
  std::string waiting_;  // to be written in larger pieces
  int64_t size_ = 0;
};

}  // namespace tributary

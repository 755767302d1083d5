// Shared by the fuzz targets: expected errors, assertions and temporary files.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary::fuzz {

// An assertion: a finding of the fuzzer, a failed test in fuzz_replay.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

// Messages may quote a file and are printed to a terminal, so they must not contain control characters.
inline void require_printable(std::string_view message) {
  bool plain = is_utf8(message);
  for (const char c : message) plain = plain && static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  require(plain, "a message that is not one printable line: " + std::string(message));
}

// Accepts success and an `Expected` error; any other exception is a finding.
template <typename Expected = InputError, typename Read>
void read_or_reject(Read read) {
  try {
    read();
  } catch (const Expected& error) {
    require_printable(error.what());
  }
}

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A temporary folder in $TMPDIR for the lifetime of the process; scripts/fuzz puts it in memory.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "tributary-fuzz-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot create " + path_);
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::string path = path_ + "/" + name;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace tributary::fuzz

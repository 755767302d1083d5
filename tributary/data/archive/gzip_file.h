// Reads a plain or gzipped file as a stream.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace tributary {

// Gzip is detected by the first two bytes and may have several members.
class MaybeGzipFile {
 public:
  explicit MaybeGzipFile(const std::string& path);  // throws an InputError if it cannot be opened
  ~MaybeGzipFile();
  MaybeGzipFile(const MaybeGzipFile&) = delete;
  MaybeGzipFile& operator=(const MaybeGzipFile&) = delete;

  // Reads `count` bytes, or fewer at the end of the data. Throws an InputError if gzip data is truncated or corrupt.
  size_t read(uint8_t* out, size_t count);

  bool gzipped() const { return gzipped_; }
  int64_t file_bytes() const { return file_bytes_; }  // on disk

 private:
  size_t read_gzip(uint8_t* out, size_t count);
  bool refill();
  [[noreturn]] void corrupt(const char* what) const;

  std::string path_;
  std::ifstream file_;
  int64_t file_bytes_ = 0;
  bool gzipped_ = false;
  bool member_open_ = true;  // within a gzip member
  z_stream stream_ = {};
  std::vector<uint8_t> input_;
};

}  // namespace tributary

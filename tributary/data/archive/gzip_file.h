// Variant a file that may be gzipped, a piece at a time.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace tributary {

// A regular file as a stream of bytes; gzip is recognised by its first two bytes, and may have several members.
class MaybeGzipFile {
 public:
  explicit MaybeGzipFile(const std::string& path);  // InputError if it cannot be opened
  ~MaybeGzipFile();
  MaybeGzipFile(const MaybeGzipFile&) = delete;
  MaybeGzipFile& operator=(const MaybeGzipFile&) = delete;

  // Reads up to `count` bytes; fewer only at the end of the data. InputError if the gzip data is truncated or corrupt.
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
  bool member_open_ = true;  // inside a gzip member, whose end has not been seen
  z_stream stream_ = {};
  std::vector<uint8_t> input_;
};

}  // namespace tributary

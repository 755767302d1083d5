// Reads the bytes of one element of a MATLAB 5 file, inflating deflated ones.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace tributary {

class MatStream {
 public:
  // Reads `bytes` bytes of `file` from `at`, which must be within the file. `path` is for error messages.
  MatStream(std::ifstream& file, const std::string& path, int64_t at, int64_t bytes, bool deflated);
  ~MatStream();
  MatStream(const MatStream&) = delete;
  MatStream& operator=(const MatStream&) = delete;

  // Read exactly `count` bytes or throw an InputError. `take` allocates memory only as the bytes arrive.
  void read(uint8_t* to, int64_t count);
  std::vector<uint8_t> take(int64_t count);
  void skip(int64_t count);

  // Reads to the end, which verifies the checksum of a deflated element.
  void finish();

  // Throws an InputError.
  [[noreturn]] void damaged(const std::string& what) const;

 private:
  // Reads `count` bytes, or fewer at the end of the element.
  int64_t read_some(uint8_t* to, int64_t count);
  int64_t inflate_some(uint8_t* to, int64_t count);

  std::ifstream& file_;
  std::string path_;
  int64_t at_ = 0;
  int64_t max_bytes_ = 0;  // upper bound of the inflated size
  int64_t left_ = 0;       // remaining bytes in the file
  bool deflated_ = false;
  bool ended_ = false;  // end of the deflated data
  z_stream stream_ = {};
  std::vector<uint8_t> input_;
};

}  // namespace tributary

// The bytes of one element of a MATLAB 5 file, inflated on the way where the element is deflated.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace tributary {

class MatStream {
 public:
  // The `bytes` of `file` from `at` on, which must lie inside the file; `path` is for messages.
  MatStream(std::ifstream& file, const std::string& path, int64_t at, int64_t bytes, bool deflated);
  ~MatStream();
  MatStream(const MatStream&) = delete;
  MatStream& operator=(const MatStream&) = delete;

  // Exactly `count` bytes, or an InputError. `take` asks for memory only as the bytes arrive.
  void read(uint8_t* to, int64_t count);
  std::vector<uint8_t> take(int64_t count);
  void skip(int64_t count);

  // Reads on to the end, where a deflated element has its checksum.
  void finish();

  // An InputError that says how the element is broken.
  [[noreturn]] void damaged(const std::string& what) const;

 private:
  // Up to `count` bytes, fewer only at the end of the element.
  int64_t read_some(uint8_t* to, int64_t count);
  int64_t inflate_some(uint8_t* to, int64_t count);

  std::ifstream& file_;
  std::string path_;
  int64_t at_ = 0;
  int64_t most_ = 0;  // bytes that can come in all
  int64_t left_ = 0;  // bytes of the file not read yet
  bool deflated_ = false;
  bool ended_ = false;  // the deflated bytes are complete
  z_stream stream_ = {};
  std::vector<uint8_t> input_;
};

}  // namespace tributary

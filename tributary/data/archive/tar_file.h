// A tar archive as a row of files that can be read in any order, from any thread.
//
// It is gone through once, header by header, without reading contents; then a member is a place in the file. Nothing is
// ever unpacked, so a name is only a name. Every claim is checked against the file: contents lie within it, the end is
// marked, and nothing is behind the end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tributary {

struct TarMember {
  std::string name;  // without a leading "./"
  int64_t offset = 0, size = 0;
};

class TarFile {
 public:
  explicit TarFile(const std::string& path);  // InputError if it cannot be opened
  TarFile(TarFile&& other) noexcept;
  TarFile(const TarFile&) = delete;
  TarFile& operator=(const TarFile&) = delete;
  ~TarFile();

  const std::string& path() const { return path_; }

  // Calls visit for every regular file in the order of the archive. InputError where the archive is damaged, or a name
  // could not be that of a file below some folder: empty, absolute, with ".." or with control characters.
  void for_each_member(const std::function<void(TarMember)>& visit) const;

  // Bytes of the file, which for_each_member said are there. A WorkError if they are not any more, because the file
  // was changed.
  std::vector<uint8_t> read(int64_t offset, int64_t size) const;

  // Gives the descriptor back: every read then opens the file anew, for sets of more files than may be open at once.
  void close();

 private:
  bool read_to(int64_t offset, uint8_t* to, size_t size) const;
  std::string read_text(int64_t offset, int64_t size) const;
  void check_size(int64_t begin, int64_t size, const std::string& name) const;
  void check_end(int64_t offset) const;

  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0, changed_ = 0;  // of the file, and when it was last written, in nanoseconds
};

}  // namespace tributary

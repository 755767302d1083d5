// Random access to the files of a tar archive, from any thread.
//
// Headers are scanned once, without reading contents; then a member is an offset and a size. Nothing is extracted to
// disk. Archives are untrusted: contents must be within the file, the end marker must be present, and nothing may
// follow it.
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
  explicit TarFile(const std::string& path);  // throws an InputError if it cannot be opened
  TarFile(TarFile&& other) noexcept;
  TarFile(const TarFile&) = delete;
  TarFile& operator=(const TarFile&) = delete;
  ~TarFile();

  const std::string& path() const { return path_; }

  // Calls visit for every regular file in the order of the archive. Throws an InputError if the archive is damaged or a
  // name is not a safe relative path: empty, absolute, with ".." or with control characters.
  void for_each_member(const std::function<void(TarMember)>& visit) const;

  // Reads a range reported by for_each_member. Throws a WorkError if the file has changed since.
  std::vector<uint8_t> read(int64_t offset, int64_t size) const;

  // Closes the descriptor; every read then reopens the file. For sets with more files than the limit of open ones.
  void close();

 private:
  bool read_to(int64_t offset, uint8_t* to, size_t size) const;
  std::string read_text(int64_t offset, int64_t size) const;
  void check_size(int64_t begin, int64_t size, const std::string& name) const;
  void check_end(int64_t offset) const;

  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0, changed_ = 0;  // of the file; last modification in nanoseconds
};

}  // namespace tributary

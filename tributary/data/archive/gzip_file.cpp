#include "tributary/data/archive/gzip_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>

#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

constexpr size_t kInputBytes = size_t{1} << 16;
constexpr int kGzipWindow = 15 + 16;  // zlib: maximum window, gzip format

}  // namespace

MaybeGzipFile::MaybeGzipFile(const std::string& path) : path_(path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) input_error("{} does not exist; check the path", path);
  if (!std::filesystem::is_regular_file(status)) input_error("{} is not a file; name a file", path);
  file_bytes_ = static_cast<int64_t>(std::filesystem::file_size(path, error));
  file_ = open_regular(path);
  if (error || !file_) input_error("{} cannot be opened; check its permissions", path);

  char magic[2] = {};
  file_.read(magic, 2);
  gzipped_ = file_.gcount() == 2 && magic[0] == '\x1f' && magic[1] == '\x8b';
  file_.clear();
  file_.seekg(0);
  if (!gzipped_) return;
  input_.resize(kInputBytes);
  if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
}

MaybeGzipFile::~MaybeGzipFile() {
  if (gzipped_) inflateEnd(&stream_);
}

size_t MaybeGzipFile::read(uint8_t* out, size_t count) {
  if (gzipped_) return read_gzip(out, count);
  file_.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(count));
  return static_cast<size_t>(file_.gcount());
}

size_t MaybeGzipFile::read_gzip(uint8_t* out, size_t count) {
  size_t done = 0;
  while (done < count) {
    if (stream_.avail_in == 0 && !refill()) {
      if (member_open_) corrupt("the gzip data is truncated");
      return done;
    }
    if (!member_open_) {  // another member follows
      inflateReset(&stream_);
      member_open_ = true;
    }
    const size_t room = std::min<size_t>(count - done, std::numeric_limits<uInt>::max());
    stream_.next_out = out + done;
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    done += room - stream_.avail_out;
    if (result == Z_STREAM_END) {
      member_open_ = false;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      corrupt("the gzip data is corrupt");
    }
  }
  return done;
}

bool MaybeGzipFile::refill() {
  file_.read(reinterpret_cast<char*>(input_.data()), static_cast<std::streamsize>(input_.size()));
  stream_.next_in = input_.data();
  stream_.avail_in = static_cast<uInt>(file_.gcount());
  return stream_.avail_in > 0;
}

void MaybeGzipFile::corrupt(const char* what) const {
  input_error("{}: {}; download or copy the file again", path_, what);
}

}  // namespace tributary

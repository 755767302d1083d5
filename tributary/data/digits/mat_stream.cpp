#include "tributary/data/digits/mat_stream.h"

#include <algorithm>
#include <new>

#include "tributary/base/error.h"

namespace tributary {
namespace {

constexpr int64_t kBuffer = int64_t{1} << 16;
constexpr int64_t kFirstChunk = int64_t{1} << 20;
constexpr int64_t kMaxInflation = 1032;  // maximum expansion of deflate

}  // namespace

MatStream::MatStream(std::ifstream& file, const std::string& path, int64_t at, int64_t bytes, bool deflated)
    : file_(file),
      path_(path),
      at_(at),
      max_bytes_(deflated ? kMaxInflation * bytes : bytes),
      left_(bytes),
      deflated_(deflated) {
  file_.clear();
  file_.seekg(at);
  if (!deflated_) return;
  input_.resize(static_cast<size_t>(std::min(bytes, kBuffer)));
  if (inflateInit(&stream_) != Z_OK) throw std::bad_alloc();
}

MatStream::~MatStream() {
  if (deflated_) inflateEnd(&stream_);
}

void MatStream::read(uint8_t* to, int64_t count) {
  if (read_some(to, count) < count) damaged("it ends early");
}

std::vector<uint8_t> MatStream::take(int64_t count) {
  if (count > max_bytes_) damaged("it ends early");
  std::vector<uint8_t> bytes;
  for (int64_t filled = 0; filled < count;) {
    const int64_t wanted = deflated_ ? std::min(count, std::max(kFirstChunk, 2 * filled)) : count;
    bytes.resize(static_cast<size_t>(wanted));
    read(bytes.data() + filled, wanted - filled);
    filled = wanted;
  }
  return bytes;
}

void MatStream::skip(int64_t count) {
  std::vector<uint8_t> skipped(static_cast<size_t>(std::min(count, kBuffer)));
  for (; count > 0; count -= std::min(count, kBuffer)) read(skipped.data(), std::min(count, kBuffer));
}

void MatStream::finish() {
  std::vector<uint8_t> skipped(static_cast<size_t>(kBuffer));
  while (deflated_ && read_some(skipped.data(), kBuffer) > 0) continue;
}

int64_t MatStream::read_some(uint8_t* to, int64_t count) {
  if (deflated_) return inflate_some(to, count);
  file_.read(reinterpret_cast<char*>(to), std::min(count, left_));
  left_ -= file_.gcount();
  return file_.gcount();
}

int64_t MatStream::inflate_some(uint8_t* to, int64_t count) {
  int64_t done = 0;
  while (done < count && !ended_) {
    if (stream_.avail_in == 0 && left_ > 0) {
      file_.read(reinterpret_cast<char*>(input_.data()), std::min(left_, static_cast<int64_t>(input_.size())));
      if (file_.gcount() == 0) damaged("it cannot be read");
      left_ -= file_.gcount();
      stream_.next_in = input_.data();
      stream_.avail_in = static_cast<uInt>(file_.gcount());
    }
    const int64_t room = std::min(count - done, kFirstChunk);
    stream_.next_out = to + done;
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    const int64_t got = room - static_cast<int64_t>(stream_.avail_out);
    done += got;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) damaged("corrupt deflated data");
    if (got == 0 && stream_.avail_in == 0 && left_ == 0 && result != Z_STREAM_END) damaged("it ends early");
    ended_ = result == Z_STREAM_END;
  }
  return done;
}

void MatStream::damaged(const std::string& what) const {
  input_error("{}: the array at byte {} is damaged ({}); download or copy the file again", path_, at_, what);
}

}  // namespace tributary

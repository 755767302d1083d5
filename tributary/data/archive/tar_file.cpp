#include "tributary/data/archive/tar_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/data/archive/tar_header.h"

namespace tributary {
namespace {

constexpr int64_t kMaxNameBytes = 64 << 10;  // also limits the pax records of one member

int open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // does not wait for a FIFO's writer
  if (descriptor < 0)
    input_error("{} cannot be opened ({}); check the path and its permissions", path,
                std::error_code(errno, std::generic_category()).message());
  return descriptor;
}

struct stat stat_of(int descriptor, const std::string& path) {
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode))
    input_error("{} is not a regular file; name a tar archive", path);
  return about;
}

int64_t last_written(const struct stat& about) {
  return int64_t{1'000'000'000} * about.st_mtim.tv_sec + about.st_mtim.tv_nsec;
}

// Rounds up to whole blocks.
int64_t padded(int64_t size) {
  return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// Validates a name of the archive as a printable relative path.
std::string checked_name(std::string_view name, const std::string& file) {
  while (name.starts_with("./")) name.remove_prefix(2);
  if (name.empty()) input_error("{} has a file without a name; pack it again", file);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), is_control))
    input_error("{} has a file name with control characters ({}); rename it and pack again", file, printable(name));
  for (std::string_view rest = name; !rest.empty();) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    if (slash == 0 || rest.substr(0, slash) == "..")
      input_error("{} has a file name that leads outside ({}); pack it again with relative paths", file,
                  printable(name));
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  return std::string(name);
}

}  // namespace

TarFile::TarFile(const std::string& path) : path_(path), descriptor_(open_file(path)) {
  try {
    const struct stat about = stat_of(descriptor_, path);
    size_ = about.st_size;
    changed_ = last_written(about);
  } catch (...) {
    close();
    throw;
  }
}

TarFile::TarFile(TarFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      changed_(other.changed_) {}

TarFile::~TarFile() {
  close();
}

void TarFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

bool TarFile::read_to(int64_t offset, uint8_t* to, size_t size) const {
  const int descriptor = descriptor_ >= 0 ? descriptor_ : open_file(path_);
  const auto done = [&](bool complete) {
    if (descriptor != descriptor_) ::close(descriptor);
    return complete;
  };
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || about.st_size != size_ || last_written(about) != changed_) return done(false);
  while (size > 0) {
    const ssize_t got = ::pread(descriptor, to, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return done(false);
    offset += got;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return done(true);
}

std::vector<uint8_t> TarFile::read(int64_t offset, int64_t size) const {
  TRIBUTARY_CHECK(offset >= 0 && size >= 0 && size <= size_ - offset, "{} bytes at {} of {}", size, offset, path_);
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  if (!read_to(offset, bytes.data(), bytes.size()))
    work_error("{} was changed or can no longer be read; do not change it during a run", path_);
  return bytes;
}

std::string TarFile::read_text(int64_t offset, int64_t size) const {
  if (size > kMaxNameBytes)
    input_error("{}: the additional header at byte {} has {} bytes, more than {}; pack the file again", path_, offset,
                size, kMaxNameBytes);
  const std::vector<uint8_t> bytes = read(offset, size);
  return {bytes.begin(), bytes.end()};
}

void TarFile::check_size(int64_t begin, int64_t size, const std::string& name) const {
  if (size <= size_ - begin) return;
  input_error("{} is truncated: {} needs {} bytes, {} are left; copy or pack it again", path_, printable(name),
              thousands(size), thousands(std::max<int64_t>(0, size_ - begin)));
}

// Only padding may follow the end marker. Of concatenated archives, all but the first would be ignored silently.
void TarFile::check_end(int64_t offset) const {
  std::vector<uint8_t> block(64 << 10);
  for (; offset < size_; offset += static_cast<int64_t>(block.size())) {
    block.resize(std::min(block.size(), static_cast<size_t>(size_ - offset)));
    if (!read_to(offset, block.data(), block.size()))
      input_error("{} cannot be read; check the disk or copy it again", path_);
    if (std::any_of(block.begin(), block.end(), [](uint8_t byte) { return byte != 0; }))
      input_error("{} has data after its end (byte {}); keep every archive in its own file", path_, offset);
  }
}

void TarFile::for_each_member(const std::function<void(TarMember)>& visit) const {
  using Kind = TarHeader::Kind;
  std::optional<std::string> name;  // of the next member, from an extended header
  int64_t size = -1;                // likewise; -1 if its own header has it
  std::array<uint8_t, kTarBlock> block;
  for (int64_t offset = 0;;) {
    if (size_ - offset < kTarBlock)
      input_error("{} has no end marker{}; copy or pack it again", path_,
                  size_ == 0 ? " (it is empty)" : ", so it may be truncated");
    if (!read_to(offset, block.data(), block.size()))
      input_error("{} cannot be read; check the disk or copy it again", path_);
    std::optional<TarHeader> header = parse_tar_header(block, {path_, offset});
    const int64_t begin = offset + kTarBlock;
    if (!header) return check_end(begin);
    if (header->kind == Kind::kRegular && (name ? *name : header->name).ends_with('/'))
      header->kind = Kind::kWithoutContent;  // a folder in old archives, which had no type for it
    const bool is_member = header->kind == Kind::kRegular || header->kind == Kind::kWithoutContent;
    const int64_t content = is_member && size >= 0 ? size : header->size;
    check_size(begin, content, header->name);
    switch (header->kind) {
      case Kind::kRegular:
        visit({checked_name(name ? *name : header->name, path_), begin, content});
        break;
      case Kind::kWithoutContent:
        if (content != 0)
          input_error("{}: {} is not a regular file but has {} bytes; pack the file again", path_,
                      printable(header->name), thousands(content));
        break;
      case Kind::kLongName:
        name = read_text(begin, content);
        name->resize(std::min(name->find('\0'), name->size()));
        break;
      case Kind::kLongLink:
        break;
      case Kind::kPax: {
        PaxRecords records = parse_pax(read_text(begin, content), {path_, offset});
        if (records.path) name = std::move(records.path);
        if (records.size) size = *records.size;
        break;
      }
      case Kind::kPaxGlobal:
        if (const PaxRecords records = parse_pax(read_text(begin, content), {path_, offset});
            records.path || records.size)
          input_error("{}: the header at byte {} sets the name or size of all files; pack it again", path_, offset);
        break;
    }
    if (is_member) {
      name.reset();
      size = -1;
    }
    offset = begin + padded(content);
  }
}

}  // namespace tributary

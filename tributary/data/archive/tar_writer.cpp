#include "tributary/data/archive/tar_writer.h"

#include <algorithm>

#include "tributary/data/archive/tar_header.h"

namespace tributary {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kMaxPlainName = 100;

bool is_plain(std::string_view name) {
  return name.size() <= kMaxPlainName &&
         std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

void TarWriter::write(std::string_view bytes) {
  size_ += static_cast<int64_t>(bytes.size());
  buffer_ += bytes;
  if (buffer_.size() < kBufferBytes) return;
  file_.append(bytes_of(buffer_));
  buffer_.clear();
}

void TarWriter::add(std::string_view name, std::string_view content) {
  const auto write_padded = [this](std::string_view bytes) {
    write(bytes);
    write(std::string((kTarBlock - bytes.size() % kTarBlock) % kTarBlock, '\0'));
  };
  const auto size = static_cast<int64_t>(content.size());
  if (is_plain(name)) {
    write(tar_header(name, size, TarWritten::kRegular));
  } else {
    const std::string record = pax_record("path", name);
    write(tar_header("././@PaxHeader", static_cast<int64_t>(record.size()), TarWritten::kPax));
    write_padded(record);
    write(tar_header("long-name", size, TarWritten::kRegular));
  }
  write_padded(content);
}

void TarWriter::add(std::string_view name, std::span<const uint8_t> content) {
  add(name, std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
}

void TarWriter::finish() {
  write(std::string(2 * kTarBlock, '\0'));
  file_.append(bytes_of(buffer_));
  buffer_.clear();
  file_.finish();
}

}  // namespace tributary

#include "tributary/io/zip_writer.h"

#include <zlib.h>

#include <fmt/format.h>

#include <algorithm>

#include "tributary/base/files.h"
#include "tributary/base/little_endian.h"

namespace tributary {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kAlignment = 64;
constexpr uint64_t kFull16 = 0xffff;      // "see the ZIP64 record"
constexpr uint64_t kFull32 = 0xffffffff;  // "see the ZIP64 field"
constexpr uint64_t kFirstDay = 0x0021;    // 1 January 1980, so that the bytes do not depend on the clock
constexpr uint64_t kLocalHeaderBytes = 30;
constexpr uint64_t kFieldBytes = 4;  // header of an extra field
constexpr uint64_t kZip64RecordBytes = 56;
constexpr uint64_t kPaddingField = 0x4246;  // "FB", as in PyTorch's files
constexpr uint64_t kVersion = 20;
constexpr uint64_t kZip64Version = 45;

std::string field(uint64_t id, const std::string& content) {
  return little_endian(id, 2) + little_endian(content.size(), 2) + content;
}

// The fields shared by local headers and the directory: version, flags, method, time, date, checksum and sizes.
std::string common(Bytes content, bool zip64) {
  const std::string size = little_endian(std::min<uint64_t>(content.size(), kFull32), 4);
  return little_endian(zip64 ? kZip64Version : kVersion, 2) + little_endian(0, 6) + little_endian(kFirstDay, 2) +
         little_endian(crc32_z(0, content.data(), content.size()), 4) + size + size;
}

}  // namespace

void ZipWriter::add(std::string_view entry, Bytes content) {
  const std::string name = folder_ + std::string(entry);
  const uint64_t offset = size_;
  const uint64_t size = content.size();
  const bool large = size >= kFull32;
  const bool far = offset >= kFull32;
  const std::string sizes =
      large ? little_endian(size, 8) + little_endian(size, 8) : "";  // uncompressed and compressed size
  const std::string known = common(content, large || far) + little_endian(name.size(), 2);

  std::string extra = large ? field(1, sizes) : "";
  const uint64_t begin = offset + kLocalHeaderBytes + name.size() + extra.size() + kFieldBytes;
  extra += field(kPaddingField, std::string((kAlignment - begin % kAlignment) % kAlignment, 'Z'));
  append("PK\3\4" + known + little_endian(extra.size(), 2) + name + extra);
  append(content);

  const std::string zip64 = large || far ? field(1, sizes + (far ? little_endian(offset, 8) : "")) : "";
  directory_ += "PK\1\2" + little_endian(large || far ? kZip64Version : kVersion, 2) + known +
                little_endian(zip64.size(), 2) + little_endian(0, 10) + little_endian(std::min(offset, kFull32), 4) +
                name + zip64;
  ++count_;
}

const std::vector<Bytes>& ZipWriter::finish() {
  const uint64_t begin = size_;
  const uint64_t length = directory_.size();
  append(std::move(directory_));
  if (count_ >= kFull16 || begin >= kFull32 || length >= kFull32) {
    const uint64_t end = size_;
    append("PK\6\6" + little_endian(kZip64RecordBytes - 12, 8) + little_endian(kZip64Version, 2) +
           little_endian(kZip64Version, 2) + little_endian(0, 8) + little_endian(count_, 8) + little_endian(count_, 8) +
           little_endian(length, 8) + little_endian(begin, 8) + "PK\6\7" + little_endian(0, 4) + little_endian(end, 8) +
           little_endian(1, 4));
  }
  const std::string count = little_endian(std::min(count_, kFull16), 2);
  append("PK\5\6" + little_endian(0, 4) + count + count + little_endian(std::min(length, kFull32), 4) +
         little_endian(std::min(begin, kFull32), 4) + little_endian(0, 2));
  return chunks_;
}

void ZipWriter::append(Bytes content) {
  chunks_.push_back(content);
  size_ += content.size();
}

void ZipWriter::append(std::string text) {
  append(bytes_of(texts_.emplace_back(std::move(text))));
}

}  // namespace tributary

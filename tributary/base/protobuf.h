// Serialises protobuf messages without a protobuf library.
//
// Torch bundles its own protobuf, which conflicts with a second one in the process, and a library's output may change
// with its version. Callers pass the field numbers of the format's .proto file.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tributary/base/little_endian.h"

namespace tributary {

// Appends fields in the order of the calls.
class ProtobufMessage {
 public:
  ProtobufMessage& integer(int field, int64_t value) {
    key(field, kVarint);
    varint(static_cast<uint64_t>(value));  // a negative number takes ten bytes
    return *this;
  }

  // Protobuf's float and double have different wire types.
  ProtobufMessage& real(int field, float value) {
    key(field, kFourBytes);
    bytes_ += little_endian(std::bit_cast<uint32_t>(value), sizeof value);
    return *this;
  }
  ProtobufMessage& real(int field, double value) {
    key(field, kEightBytes);
    bytes_ += little_endian(std::bit_cast<uint64_t>(value), sizeof value);
    return *this;
  }

  ProtobufMessage& text(int field, std::string_view value) {
    length_prefix(field, value.size());
    bytes_ += value;
    return *this;
  }

  ProtobufMessage& message(int field, const ProtobufMessage& value) { return text(field, value.bytes_); }

  // Key and length of a string or message. The caller appends its `size` bytes.
  ProtobufMessage& length_prefix(int field, uint64_t size) {
    key(field, kSized);
    varint(size);
    return *this;
  }

  std::string take() { return std::move(bytes_); }

 private:
  enum Wire : uint64_t { kVarint = 0, kEightBytes = 1, kSized = 2, kFourBytes = 5 };

  void key(int field, Wire wire) { varint(static_cast<uint64_t>(field) << 3 | wire); }

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace tributary

// Encodes integers as little-endian bytes on any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tributary {

// The lowest `length` bytes of `value`.
inline std::string little_endian(uint64_t value, size_t length) {
  std::string bytes;
  for (size_t i = 0; i < length; ++i, value >>= 8) bytes += static_cast<char>(value);
  return bytes;
}

}  // namespace tributary

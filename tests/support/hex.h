// Byte strings in hexadecimal, for tests.
#pragma once

#include <string>

namespace tributary::test {

// Converts "0a 01" to two bytes.
inline std::string hex(const std::string& digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 3) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace tributary::test

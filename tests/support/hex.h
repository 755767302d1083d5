// Bytes as a test writes them out.
#pragma once

#include <string>

namespace tributary::test {

// "0a 01" as two bytes.
inline std::string hex(const std::string& digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 3) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace tributary::test

#include "tributary/base/crc32c.h"

#include <array>

namespace tributary {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}();

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t rest = 0xffffffff;
  for (const char byte : bytes) rest = rest >> 8 ^ kTable[(rest ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~rest;
}

}  // namespace tributary

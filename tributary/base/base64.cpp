#include "tributary/base/base64.h"

#include <algorithm>
#include <string_view>

namespace tributary {

std::string base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (k < count ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kAlphabet[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace tributary

// Base64 encoding (RFC 4648), for self-contained HTML pages.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tributary {

std::string base64(std::span<const uint8_t> bytes);

}  // namespace tributary

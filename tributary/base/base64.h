// Bytes as text, for pages that carry everything within themselves (RFC 4648).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tributary {

std::string base64(std::span<const uint8_t> bytes);

}  // namespace tributary

// CRC-32C (Castagnoli), the checksum of TFRecord files. zlib's crc32 uses another polynomial.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary {

uint32_t crc32c(std::string_view bytes);

}  // namespace tributary

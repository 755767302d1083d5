// CRC-32C, the checksum of TensorFlow's records. It is Castagnoli's polynomial; zlib's crc32 has another.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary {

uint32_t crc32c(std::string_view bytes);

}  // namespace tributary

// Measures JPEG decoding speed, compared with plain libjpeg-turbo.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

struct DecodeSpeed {
  double ours = 0;     // pictures per second, decoded and preprocessed
  double libjpeg = 0;  // pictures per second, decoded by libjpeg-turbo only
};

// JPEG files for timing: at most `count` of a folder, or generated ones of 256x256 if `folder` is empty.
std::vector<std::vector<uint8_t>> jpegs_for_timing(const std::string& folder, int64_t count);

// Measures both on `threads` threads, alternating, and takes medians of five. The files are in memory, so that the disk
// is not measured.
DecodeSpeed measure_decoding(const std::vector<std::vector<uint8_t>>& jpegs, int threads);

}  // namespace tributary

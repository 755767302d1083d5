// How fast JPEGs become pictures in memory, against libjpeg-turbo alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

struct DecodeSpeed {
  double ours = 0;     // pictures a second: decoded, framed, in their place
  double libjpeg = 0;  // the same bytes through libjpeg-turbo into a buffer, nothing else
};

// JPEG files to time with: those of a folder (at most `count`), or drawn ones of 256 x 256 where `folder` is empty.
std::vector<std::vector<uint8_t>> jpegs_for_timing(const std::string& folder, int64_t count);

// Both on `threads` threads, turn about, medians of five. The bytes lie in memory, so that no disk is measured.
DecodeSpeed measure_decoding(const std::vector<std::vector<uint8_t>>& jpegs, int threads);

}  // namespace tributary

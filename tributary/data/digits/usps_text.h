// Reads USPS as text: zip.train.gz and zip.test.gz of "The Elements of Statistical Learning".
//
// Each line is a picture: its label, then 16 x 16 grey values from -1 (paper) to 1 (ink), row-major, separated by
// spaces. Files are untrusted, plain or gzipped, and read line by line. Errors are InputErrors with file and line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/digits/packed_images.h"

namespace tributary {

struct UspsText {
  PackedImages images;  // grey; -1 .. 1 becomes 0 .. 255
  std::vector<uint8_t> labels;
};

UspsText read_usps_text(const std::string& path);

// Whether a file is called zip.train or zip.test, gzipped or not, or its first line is such a picture. False if it
// cannot be read.
bool is_usps_text(const std::string& path);

}  // namespace tributary

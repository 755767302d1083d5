// USPS as text: zip.train.gz and zip.test.gz of "The Elements of Statistical Learning".
//
// A line is a picture: its label, then 16 x 16 grey values from -1 (paper) to 1 (ink), row by row, between blanks.
// Files are untrusted: plain or gzipped, they are read a line at a time, and every complaint is an InputError that
// names the file and the line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/digits/packed_images.h"

namespace tributary {

struct UspsText {
  PackedImages images;  // grey, -1 .. 1 as 0 .. 255
  std::vector<uint8_t> labels;
};

UspsText read_usps_text(const std::string& path);

// True for files called zip.train or zip.test, gzipped or not, and for those whose first line is such a picture. False
// also where it cannot be read.
bool is_usps_text(const std::string& path);

}  // namespace tributary

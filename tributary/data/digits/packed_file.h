// Reads packed files, which contain many pictures: IDX, .mat and USPS text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/digits/packed_images.h"

namespace tributary {

// The file of a path: without the part (":train") of a .mat file.
std::string file_of(const std::string& path);

// Whether an existing file is a packed file, by its name or its first bytes.
bool is_packed_file(const std::string& path);

PackedImages read_packed_images(const std::string& path);

struct PackedLabels {
  std::string path;  // of their file, for error messages
  std::vector<uint8_t> values;
};

// Reads the labels of `count` pictures. Throws an InputError if they are missing or their number differs.
PackedLabels read_packed_labels(const std::string& path, int64_t count);

}  // namespace tributary

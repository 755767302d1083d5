// Files that hold many pictures: IDX, .mat and the text of USPS, behind one door.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/digits/packed_images.h"

namespace tributary {

// The file that a path names: the path itself, or without the part that it names of a .mat file.
std::string file_of(const std::string& path);

// True if an existing file is one of these, by its name or its first bytes; whether it can be read is another question.
bool is_packed_file(const std::string& path);

PackedImages read_packed_images(const std::string& path);

struct PackedLabels {
  std::string path;  // of the file that they are in, for messages
  std::vector<uint8_t> values;
};

// The labels of `count` pictures. InputError if there are none or not as many.
PackedLabels read_packed_labels(const std::string& path, int64_t count);

}  // namespace tributary

// IDX files: the format of MNIST and its relatives, plain or gzipped.
//
// Two zero bytes, a type (8: unsigned bytes), a rank, one big-endian 32-bit size a dimension, then the bytes. Digit
// sets come as pairs, NAME-images.idx[.gz] and NAME-labels.idx[.gz]; we write RGB pictures as [n, h, w, 3].
//
// Files are untrusted: sizes are checked against what the file really holds before memory is asked for, and a gzipped
// file is unpacked no farther than its header promises. Every complaint is an InputError that names the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/digits/packed_images.h"
#include "tributary/data/image_set.h"

namespace tributary {

// Reads [n, h, w] (grey) or [n, h, w, 3] (RGB).
PackedImages read_idx_images(const std::string& path);

// Reads [n].
std::vector<uint8_t> read_idx_labels(const std::string& path);

// Writes plain IDX, atomically.
void write_idx_images(const std::string& path, const ImageSet& images);
void write_idx_labels(const std::string& path, const Labels& labels);

// True if the file's (decompressed) bytes begin like IDX of unsigned bytes. False also where it cannot be read.
bool is_idx_file(const std::string& path);

// The labels beside an images file: NAME-images.idx -> NAME-labels.idx, train-images-idx3-ubyte -> train-labels-idx1-
// ubyte; gzipped or not, whichever exists, first as the images are. InputError where there are none.
std::string labels_path_for(const std::string& images_path);

}  // namespace tributary

// Reads and writes IDX files, the format of MNIST, plain or gzipped.
//
// Layout: two zero bytes, a type (8: unsigned bytes), a rank, one big-endian 32-bit size per dimension, the data. Sets
// are pairs NAME-images.idx[.gz] and NAME-labels.idx[.gz]; RGB pictures are [n, h, w, 3]. Files are untrusted: sizes
// are checked against the file before memory is allocated, and gzipped files are decompressed only up to the declared
// size. Errors are InputErrors that name the file.
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

// Whether the (decompressed) file starts like IDX of unsigned bytes. False if it cannot be read.
bool is_idx_file(const std::string& path);

// The labels file of an images file in the same folder: NAME-images.idx -> NAME-labels.idx, train-images-idx3-ubyte ->
// train-labels-idx1-ubyte. Plain and gzipped names are tried, first the form of the images. Throws an InputError if
// neither exists.
std::string labels_path_for(const std::string& images_path);

}  // namespace tributary

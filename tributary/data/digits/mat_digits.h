// Reads digit sets in .mat files, in the layouts of their distributors.
//
// - SVHN and Synthetic Digits (train_32x32.mat, synth_train_32x32.mat, ...): X [h, w, 3, n] and y [n, 1]; where y is in
//   1 .. 10, 10 means the digit 0.
// - mnist_data.mat: train_32 [n, 32, 32] or train_28 [n, 28, 28, 1], label_train [n, 10]; the same for test.
// - mnistm_with_label.mat: train [n, 28, 28, 3], label_train [n, 10]; the same for test.
// - syn_number.mat: train_data [n, 32, 32, 3], train_label [n, 1]; the same for test.
// - usps_28x28.mat: dataset, cells {train, test} x {pictures [n, 1, 28, 28], labels [n, 1]}.
//
// Integers are in 0 .. 255; floats are in 0 .. 1 if none is larger, else in 0 .. 255. Labels are numbers or one-hot
// rows. Paths to files with both parts select one of them: mnist_data.mat:train, mnist_data.mat:test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/digits/packed_images.h"

namespace tributary {

// A path that ends in .mat, .mat:train or .mat:test, split into file and part.
struct MatPath {
  std::string file;
  std::string part;  // "train", "test" or empty
};

// Other paths are returned unchanged, with an empty part.
MatPath mat_path(const std::string& path);

bool is_mat_path(const std::string& path);

// Throws an InputError if the file has none of the layouts above, or the part is missing.
PackedImages read_mat_images(const std::string& path);
std::vector<uint8_t> read_mat_labels(const std::string& path);  // per picture

}  // namespace tributary

// Digits in .mat files, as their authors and the field distribute them.
//
// - SVHN and Synthetic Digits (train_32x32.mat, synth_train_32x32.mat, ...): X [h, w, 3, n] and y [n, 1]; where y is in
//   1 .. 10, 10 is the digit 0.
// - mnist_data.mat: train_32 [n, 32, 32] or train_28 [n, 28, 28, 1], label_train [n, 10], and so for test.
// - mnistm_with_label.mat: train [n, 28, 28, 3], label_train [n, 10], and so for test.
// - syn_number.mat: train_data [n, 32, 32, 3], train_label [n, 1], and so for test.
// - usps_28x28.mat: dataset, cells {train, test} x {pictures [n, 1, 28, 28], labels [n, 1]}.
//
// Whole numbers are bytes; floating ones are 0 .. 1 if none is larger, else 0 .. 255. Labels are numbers, or rows with
// a single one. A file of both parts is named with the part that is meant: mnist_data.mat:train, mnist_data.mat:test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/digits/packed_images.h"

namespace tributary {

// A path that ends in .mat, .mat:train or .mat:test, taken apart.
struct MatPath {
  std::string file;
  std::string part;  // "train", "test" or empty
};

// Any other path comes back whole, with no part.
MatPath mat_path(const std::string& path);

bool is_mat_path(const std::string& path);

// InputError where the file has not one of the forms above, or its part is not clear.
PackedImages read_mat_images(const std::string& path);
std::vector<uint8_t> read_mat_labels(const std::string& path);  // one a picture

}  // namespace tributary

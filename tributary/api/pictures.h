// Pictures for the library: files, or pixels that the caller has in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tributary/base/tensor.h"
#include "tributary/data/load.h"

namespace tributary {

class Pictures {
 public:
  // A folder, a list file, a picture, tar shards, NAME-images.idx or digits in a .mat file (docs/data.md).
  Pictures(std::string path) : path_(std::move(path)) {}
  Pictures(const char* path) : path_(path) {}

  // Pixels in memory: uint8 [n, height, width, 3], RGB. Shares the memory of a contiguous CPU tensor, which must not
  // change while it is used; others are copied. Throws an InputError if dtype or shape differ.
  Pictures(const Tensor& pixels);
  // The same without a tensor. `pixels` keeps the memory alive.
  Pictures(std::shared_ptr<const uint8_t> pixels, int64_t count, int height, int width);

  // The same pixels with labels, indices of the model's classes, for evaluation. Throws an InputError if there is not
  // one per picture.
  Pictures with_labels(std::vector<int64_t> labels) const;

  const std::string& path() const { return path_; }  // empty for pixels in memory
  const PictureArray& array() const { return array_; }
  const std::vector<int64_t>& labels() const { return labels_; }
  bool in_memory() const { return array_.is_given(); }

 private:
  std::string path_;
  PictureArray array_;
  std::vector<int64_t> labels_;
};

}  // namespace tributary

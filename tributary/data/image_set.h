// A set of pictures of one size, and labels as a separate type.
//
// Methods get an `ImageSet` of the target domain and no labels. Labels are passed to source training and evaluation
// only, so the type system guarantees that adaptation is unsupervised.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tributary {

// RGB, 8 bits, row-major, `height` x `width` pixels. Networks see a crop of `crop` x `crop`; 0 is the whole picture.
// The pictures are contiguous in memory, the set's own or that of somebody else, or decoded on demand if they do not
// fit.
struct ImageSet {
  int height = 0;
  int width = 0;
  std::vector<std::string> names;           // per picture: its path as given, or "file.idx[17]"
  std::vector<uint8_t> pixels;              // size() * height * width * 3, or empty if `read` or `borrowed` is set
  std::shared_ptr<const uint8_t> borrowed;  // the same in memory that another owns; only read
  int crop = 0;
  uint64_t digest = 0;  // of the names and the sizes of the files, or of the content of a packed file
  std::function<void(int64_t index, uint8_t* to)> read;  // decodes one picture; thread-safe
  int threads = 0;                                       // for `read`; 0: all
  int64_t feature_bytes = -1;                            // for features; -1: half of the device's available memory

  int64_t size() const { return static_cast<int64_t>(names.size()); }
  int64_t picture_bytes() const { return int64_t{3} * height * width; }
  bool in_memory() const { return !read; }
  // These require in_memory().
  const uint8_t* data() const { return borrowed ? borrowed.get() : pixels.data(); }
  const uint8_t* picture(int64_t index) const { return data() + index * picture_bytes(); }
};

// Copies the pictures at `index` to `to`, contiguously.
void copy_pictures(const ImageSet& images, std::span<const int64_t> index, uint8_t* to);

// The set of the pictures at `index`. Copies pixels if they are in memory.
ImageSet subset(const ImageSet& images, std::vector<int64_t> index);

// The class of every picture of a set, 0 .. classes.size() - 1, in the order of the set.
struct Labels {
  std::vector<std::string> classes;  // class names in index order
  std::vector<int64_t> values;
};

struct LabelledImages {
  ImageSet images;
  Labels labels;
};

}  // namespace tributary

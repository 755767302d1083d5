// A set of pictures, all of one size; and labels, which are another type.
//
// A method sees an `ImageSet` and nothing else of the target domain. Labels travel separately and reach source training
// and evaluation only: that adaptation is unsupervised is a matter of types, not of discipline.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tributary {

// Pictures by index: RGB, 8 bits, row-major, `height` x `width`. Networks see `crop` x `crop` of them; 0 is all. They
// lie one behind the other in memory, or, where that would take too much, are read again whenever they are needed.
struct ImageSet {
  int height = 0;
  int width = 0;
  std::vector<std::string> names;  // one a picture: its path as given, or "file.idx[17]"
  std::vector<uint8_t> pixels;     // size() * height * width * 3, or empty where `read` is set
  int crop = 0;
  std::function<void(int64_t index, uint8_t* to)> read;  // brings one picture, from any thread
  int threads = 0;                                       // for reading them; 0: all of the machine
  int64_t gpu_bytes = -1;                                // a GPU may hold of them; -1: half of what it has free
  int64_t feature_bytes = -1;  // for features of the set; -1: half of what the device has free

  int64_t size() const { return static_cast<int64_t>(names.size()); }
  int64_t picture_bytes() const { return int64_t{3} * height * width; }
  bool in_memory() const { return !read; }
  // Only of a set in memory.
  const uint8_t* picture(int64_t index) const { return pixels.data() + index * picture_bytes(); }
};

// The pictures at `index`, one behind the other from `to` on.
void copy_pictures(const ImageSet& images, std::span<const int64_t> index, uint8_t* to);

// The same set with the pictures at `index` only. A set in memory is copied.
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

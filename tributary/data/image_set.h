// A set of pictures, decoded once, all of one size; and labels, which are another type.
//
// A method sees an `ImageSet` and nothing else of the target domain. Labels travel separately and reach source training
// and evaluation only: that adaptation is unsupervised is a matter of types, not of discipline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

// Pictures by index: RGB, 8 bits, row-major, `height` x `width`, one behind the other. Networks see `crop` x `crop` of
// them; 0 is all.
struct ImageSet {
  int height = 0;
  int width = 0;
  std::vector<std::string> names;  // one a picture: its path as given, or "file.idx[17]"
  std::vector<uint8_t> pixels;     // size() * height * width * 3
  int crop = 0;

  int64_t size() const { return static_cast<int64_t>(names.size()); }
  int64_t picture_bytes() const { return int64_t{3} * height * width; }
  const uint8_t* picture(int64_t index) const { return pixels.data() + index * picture_bytes(); }
};

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

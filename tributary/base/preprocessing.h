// How a picture of any size becomes the square that a network sees.
#pragma once

namespace tributary {

// Resized to `resize`, of which the networks see `size` x `size` pixels: the middle in evaluation, a random place in
// training. `keep_aspect` resizes the shorter side and cuts the middle square out; otherwise both sides are resized, as
// the papers of this field do it (spec 10).
struct Preprocessing {
  int size = 32;
  int resize = 32;
  bool keep_aspect = false;
  bool operator==(const Preprocessing&) const = default;
};

}  // namespace tributary

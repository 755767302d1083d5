// Preprocessing: how a picture of any size becomes the square input of a network.
#pragma once

namespace tributary {

// Pictures are resized to `resize` x `resize` pixels, then cropped to `size` x `size`: a centre crop in evaluation, a
// random crop in training. With `keep_aspect`, the shorter side is resized to `resize` and the centre square is
// cropped. Otherwise both sides are resized, which distorts the picture, as in the published baselines. Both
// interpolations are Pillow's.
struct Preprocessing {
  int size = 32;
  int resize = 32;
  bool keep_aspect = false;
  bool bicubic = false;  // interpolation, otherwise bilinear
  bool operator==(const Preprocessing&) const = default;
};

}  // namespace tributary

// Draws digits: float planes, a pen, blur, gradients and noise.
//
// Planes hold brightness or coverage, nominally 0..1; values are clamped only when a picture is written. As in the
// strokes, only exactly rounded arithmetic is used, so that results are equal on all machines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tributary/base/random.h"
#include "tributary/data/digits/digit_strokes.h"

namespace tributary {

// A square of floats, row-major.
struct Plane {
  explicit Plane(int size, float fill = 0) : size(size), value(static_cast<size_t>(size) * size, fill) {}
  float& at(int x, int y) { return value[static_cast<size_t>(y) * size + x]; }
  float at(int x, int y) const { return value[static_cast<size_t>(y) * size + x]; }

  int size;
  std::vector<float> value;
};

using Colour = std::array<float, 3>;
using Planes = std::array<Plane, 3>;  // red, green, blue

// The pen's nib, in pixels. A flat nib (rise < reach) draws thin horizontal and thick vertical strokes, like a roman
// typeface.
struct Pen {
  double reach = 1;  // half the width of a vertical stroke
  double rise = 1;   // half the width of a horizontal one
  double soft = 1;   // width of the edge; 1 is plain antialiasing
};

// Draws the strokes: each value becomes the maximum of itself and their coverage.
void draw(Plane& plane, const Strokes& strokes, const Pen& pen);

// Applies a 3 x 3 binomial blur of strength `amount` (0..1), `times` times.
void blur(Plane& plane, float amount, int times = 1);

// Bilinear enlargement.
Plane enlarged(const Plane& plane, int size);

// Smooth noise of about 0..1 with `octaves` layers: the first has `cells` cells per side; each next one is twice as
// fine and scaled by `roughness`.
Plane clouds(int size, int cells, int octaves, float roughness, Random& random);

// A gradient of 0..1 in a random direction. With `sharpness` above 1, it becomes an edge at a random position.
Plane ramp(int size, double sharpness, Random& random);

// Adds independent noise with the given standard deviation.
void add_grain(Plane& plane, float deviation, Random& random);

Planes plain(int size, const Colour& colour);

// picture = picture + (colour - picture) * cover, value by value.
void paint(Planes& picture, const Colour& colour, const Plane& cover);

// Clamps to 0..1, rounds to 8 bits and appends the interleaved pixels.
void append_pixels(const Planes& picture, std::vector<uint8_t>& pixels);

}  // namespace tributary

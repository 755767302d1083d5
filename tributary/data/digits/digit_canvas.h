// A small canvas to draw digits on: planes of floats, a round or flat pen, blur, light and grain.
//
// The planes hold brightness or coverage, nominally 0..1; nothing is clamped before the picture is written out. As in
// the strokes, only exactly rounded arithmetic is used.
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

// The nib, in pixels. A flat nib (rise below reach) draws thin horizontals and thick verticals, as a roman typeface.
struct Pen {
  double reach = 1;  // half the width of a vertical stroke
  double rise = 1;   // half the width of a horizontal one
  double soft = 1;   // width of the edge; 1 is plain antialiasing
};

// Raises the coverage of the plane to that of the strokes.
void draw(Plane& plane, const Strokes& strokes, const Pen& pen);

// The 3 x 3 binomial blur, mixed in by `amount` of 0..1, `times` over.
void blur(Plane& plane, float amount, int times = 1);

// Bilinear enlargement.
Plane enlarged(const Plane& plane, int size);

// Smooth noise of about 0..1: `octaves` layers, the first of `cells` cells across, each next one twice as fine and
// `roughness` as strong.
Plane clouds(int size, int cells, int octaves, float roughness, Random& random);

// A ramp of 0..1 in a random direction. With `sharpness` above 1 it becomes an edge at a random place.
Plane ramp(int size, double sharpness, Random& random);

// Adds independent noise of the given deviation to every value.
void add_grain(Plane& plane, float deviation, Random& random);

Planes plain(int size, const Colour& colour);

// picture = picture + (colour - picture) * cover, value by value.
void paint(Planes& picture, const Colour& colour, const Plane& cover);

// Clamps to 0..1, rounds to 8 bits, and appends the pixels interleaved.
void append_pixels(const Planes& picture, std::vector<uint8_t>& pixels);

}  // namespace tributary

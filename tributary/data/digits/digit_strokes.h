// The strokes of handwritten and printed digits, as polylines.
//
// All synthetic domains share the skeletons of the digits, so that a class means the same in each of them. They differ
// in hand (deviation from the skeleton), pen and scene. Only + - * / and sqrt are used, not libm's sin or exp, so that
// the points are equal on every machine.
#pragma once

#include <vector>

#include "tributary/base/random.h"

namespace tributary {

struct Point {
  double x = 0;
  double y = 0;
};

// One polyline per pen movement; y points down.
using Strokes = std::vector<std::vector<Point>>;

// Some variants of a digit are handwritten or printed only, such as a 2 with a loop.
enum class Script { kPen, kPrint };

// Deviations from the skeleton, in units of the digit's height.
struct Hand {
  Script script = Script::kPen;
  double wobble = 0;  // random offset of each control point
  double bend = 0;    // amplitude of a wave through the whole digit
  double serif = 0;   // half the length of serifs at the ends of open strokes; 0 for none
};

// A random variant of `digit` (0..9), centred on the origin, of height 1 and width about 0.6.
Strokes write_digit(int digit, const Hand& hand, Random& random);

// The transformation from the digit's plane to the picture.
struct View {
  double width = 1;   // scale along x
  double height = 1;  // scale along y
  double slant = 0;   // shear to the right, per unit of height
  double turn = 0;    // tangent of half the rotation angle, clockwise
  double tilt_x = 0;  // perspective: how much closer the right side is
  double tilt_y = 0;  // the same for the lower side
  double centre_x = 0;
  double centre_y = 0;
};

// Applies the view to the strokes.
Strokes project(const Strokes& strokes, const View& view);

// Moves the strokes along x in their own plane, for neighbouring digits.
Strokes shifted(Strokes strokes, double distance);

// A wave of period 1 and amplitude 1 made of parabolas; unlike a sine, it is bitwise equal on every machine.
double wave(double phase);

}  // namespace tributary

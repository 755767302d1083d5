// The strokes of a digit: which lines a pen follows to write a 0 or a 7, before anything is drawn.
//
// All domains of the embedded digits share one family of skeletons, so that a class means the same in each of them;
// what differs is the hand (how far it strays from the skeleton), the pen, and the scene. Only + - * / and sqrt are
// used here, never libm's sin or exp, so that the points are the same on every machine.
#pragma once

#include <vector>

#include "tributary/base/random.h"

namespace tributary {

struct Point {
  double x = 0;
  double y = 0;
};

// One polyline per movement of the pen; y grows downwards.
using Strokes = std::vector<std::vector<Point>>;

// Written by hand or printed: some variants of a digit occur in one of the two only, such as a 2 with a loop.
enum class Script { kPen, kPrint };

// How freely a digit is written, in units of its height.
struct Hand {
  Script script = Script::kPen;
  double wobble = 0;  // deviation of each control point
  double bend = 0;    // amplitude of a slow wave through the whole digit
  double serif = 0;   // half length of a bar across the ends of open strokes; 0 for none
};

// A random variant of `digit` (0..9), centred on the origin, of height 1 and width about 0.6.
Strokes write_digit(int digit, const Hand& hand, Random& random);

// How the plane of the digit lies in the picture: size, slant, rotation, place and perspective.
struct View {
  double width = 1;   // scale along x
  double height = 1;  // scale along y
  double slant = 0;   // shear to the right, per unit of height
  double turn = 0;    // tangent of half the rotation angle, clockwise
  double tilt_x = 0;  // perspective: how much nearer the right side is
  double tilt_y = 0;  // and the lower side
  double centre_x = 0;
  double centre_y = 0;
};

// The strokes as the view shows them.
Strokes project(const Strokes& strokes, const View& view);

// The strokes moved along x in their own plane: where a neighbouring digit stands.
Strokes shifted(Strokes strokes, double distance);

// A wave of period 1 and amplitude 1 made of parabolas: as good as a sine to bend something, and exact everywhere.
double wave(double phase);

}  // namespace tributary

#include "tributary/data/digits/digit_strokes.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "tributary/base/error.h"

namespace tributary {
namespace {

// A control point in hundredths of the digit's height. The curve is smooth except at corners.
struct Control {
  double x;
  double y;
  bool corner = false;
};

struct Path {
  std::vector<Control> points;
  bool closed = false;
};

// One shape of a digit, with its relative frequency in handwriting and print.
struct Variant {
  double pen;
  double print;
  std::vector<Path> paths;
};

constexpr bool kCorner = true;

// clang-format off
const std::array<std::vector<Variant>, 10>& variants() {
  static const std::array<std::vector<Variant>, 10> kVariants = {{
      {// 0: an oval, a narrow one, one whose end overshoots its start
       {5, 6, {{{{0, -50}, {-20, -40}, {-29, 0}, {-20, 40}, {0, 50}, {20, 40}, {29, 0}, {20, -40}}, true}}},
       {2, 4, {{{{0, -50}, {-15, -40}, {-21, 0}, {-15, 40}, {0, 50}, {15, 40}, {21, 0}, {15, -40}}, true}}},
       {3, 0, {{{{10, -46}, {-12, -46}, {-28, -12}, {-24, 32}, {0, 50}, {23, 32}, {29, -10}, {14, -42}, {-8, -44}}}}}},
      {// 1: a bare stem, one with a flag, one with flag and foot
       {5, 2, {{{{0, -50}, {0, 0}, {0, 50}}}}},
       {4, 5, {{{{-17, -33}, {2, -50, kCorner}, {2, 50}}}}},
       {1, 3, {{{{-17, -34}, {2, -50, kCorner}, {2, 50}}}, {{{-17, 50}, {21, 50}}}}}},
      {// 2: angular, round-necked, with a loop at the foot
       {4, 6, {{{{-24, -32}, {-13, -47}, {4, -50}, {22, -40}, {23, -20}, {6, 10}, {-26, 50, kCorner}, {27, 50}}}}},
       {3, 3, {{{{-25, -28}, {-18, -44}, {0, -50}, {21, -42}, {24, -22}, {6, 4}, {-16, 24}, {-25, 50, kCorner}, {27, 50}}}}},
       {3, 0, {{{{-22, -36}, {-4, -50}, {18, -40}, {20, -16}, {4, 16}, {-14, 42}, {-26, 42}, {-20, 28}, {-4, 36}, {12, 48}, {29, 40}}}}}},
      {// 3: round, flat-topped, round without a notch
       {5, 6, {{{{-23, -37}, {-6, -50}, {14, -46}, {22, -29}, {14, -10}, {-5, -4, kCorner}, {16, 3}, {26, 23}, {16, 44}, {-4, 50}, {-25, 38}}}}},
       {1, 2, {{{{-24, -50}, {23, -50, kCorner}, {-2, -10, kCorner}, {16, -2}, {26, 20}, {15, 43}, {-6, 50}, {-25, 40}}}}},
       {3, 0, {{{{-20, -42}, {2, -50}, {20, -36}, {12, -14}, {-2, -4}, {18, 8}, {24, 28}, {6, 48}, {-24, 42}}}}}},
      {// 4: open, closed, closed in one movement with a short bar
       {6, 1, {{{{-18, -48}, {-25, 10, kCorner}, {29, 8}}}, {{{15, -40}, {12, 50}}}}},
       {2, 6, {{{{29, 20}, {-29, 20, kCorner}, {11, -50, kCorner}, {11, 50}}}}},
       {2, 2, {{{{9, -50}, {-27, 12, kCorner}, {28, 12}}}, {{{9, -50}, {9, 50}}}}}},
      {// 5: in one movement, with the bar set apart, with a leaning back
       {4, 6, {{{{24, -50}, {-18, -50, kCorner}, {-22, -6, kCorner}, {-4, -15}, {16, -9}, {26, 14}, {17, 41}, {-5, 50}, {-25, 40}}}}},
       {3, 0, {{{{-14, -46}, {-20, -8, kCorner}, {4, -10}, {22, 8}, {22, 32}, {0, 50}, {-25, 42}}}, {{{-14, -47}, {26, -50}}}}},
       {3, 2, {{{{22, -50}, {-12, -50, kCorner}, {-19, -8, kCorner}, {6, -12}, {24, 10}, {17, 40}, {-6, 50}, {-23, 44}}}}}},
      {// 6: a hooked neck, a straight neck, a slim one
       {3, 6, {{{{22, -39}, {6, -50}, {-15, -42}, {-27, -8}, {-26, 26}, {-14, 46}, {4, 50}, {22, 38}, {24, 16}, {8, -3}, {-12, 2}, {-26, 20}}}}},
       {4, 2, {{{{12, -50}, {-12, -26}, {-25, 12}, {-18, 42}, {4, 50}, {23, 36}, {20, 12}, {2, 4}, {-22, 24}}}}},
       {3, 0, {{{{4, -50}, {-14, -20}, {-20, 20}, {-10, 46}, {8, 48}, {20, 32}, {12, 14}, {-4, 18}, {-15, 38}}}}}},
      {// 7: plain, with a bar, with a bent stem, with a bent stem and a serif
       {4, 5, {{{{-26, -50}, {26, -50, kCorner}, {-6, 50}}}}},
       {2, 1, {{{{-26, -49}, {26, -50, kCorner}, {-6, 50}}}, {{{-12, 0}, {23, -2}}}}},
       {3, 3, {{{{-26, -50}, {27, -50, kCorner}, {8, -14}, {-4, 18}, {-8, 50}}}}},
       {1, 1, {{{{-26, -34}, {-25, -50, kCorner}, {27, -50, kCorner}, {8, -14}, {-6, 50}}}}}},
      {// 8: two loops, one crossing movement, small head
       {3, 7, {{{{0, -50}, {-17, -43}, {-21, -27}, {-14, -10}, {0, -4}, {14, -10}, {21, -27}, {17, -43}}, true},
               {{{0, -4}, {-18, 5}, {-26, 23}, {-18, 43}, {0, 50}, {18, 43}, {26, 23}, {18, 5}}, true}}},
       {5, 0, {{{{18, -42}, {2, -50}, {-18, -40}, {-16, -20}, {2, -4}, {21, 14}, {20, 40}, {0, 50}, {-20, 40}, {-20, 16}, {0, -4}, {18, -24}}, true}}},
       {2, 2, {{{{0, -50}, {-14, -43}, {-17, -30}, {-12, -15}, {0, -9}, {12, -15}, {17, -30}, {14, -43}}, true},
               {{{0, -9}, {-19, 2}, {-26, 21}, {-18, 43}, {0, 50}, {18, 43}, {26, 21}, {19, 2}}, true}}}},
      {// 9: curved tail, straight stem, loop with a leaning stem
       {2, 6, {{{{-22, 39}, {-6, 50}, {15, 42}, {27, 8}, {26, -26}, {14, -46}, {-4, -50}, {-22, -38}, {-24, -16}, {-8, 3}, {12, -2}, {26, -20}}}}},
       {4, 1, {{{{20, -38}, {2, -50}, {-20, -38}, {-22, -16}, {-4, -3}, {14, -14}, {21, -38, kCorner}, {20, 0}, {18, 50}}}}},
       {4, 2, {{{{22, -34}, {6, -50}, {-18, -40}, {-22, -18}, {-6, -4}, {16, -14}, {22, -34, kCorner}, {16, 8}, {2, 50}}}}}},
  }};
  return kVariants;
}
// clang-format on

const Variant& choose(const std::vector<Variant>& from, Script script, Random& random) {
  const auto weight = [&](const Variant& variant) { return script == Script::kPen ? variant.pen : variant.print; };
  double total = 0;
  for (const Variant& variant : from) total += weight(variant);
  double left = random.uniform(0, total);
  for (const Variant& variant : from) {
    left -= weight(variant);
    if (left < 0) return variant;
  }
  return from.front();
}

// The Catmull-Rom curve through b and c with neighbours a and d, at t in [0, 1].
Point curve(const Control& a, const Control& b, const Control& c, const Control& d, double t) {
  const auto along = [t](double p, double q, double r, double s) {
    return q + 0.5 * t * ((r - p) + t * ((2 * p - 5 * q + 4 * r - s) + t * (3 * (q - r) + s - p)));
  };
  return {along(a.x, b.x, c.x, d.x), along(a.y, b.y, c.y, d.y)};
}

std::vector<Point> trace(const Path& path) {
  constexpr int kSteps = 4;
  const auto& points = path.points;
  const auto count = static_cast<int>(points.size());
  const auto at = [&](int i) -> const Control& { return points[static_cast<size_t>((i + count) % count)]; };
  std::vector<Point> line = {{at(0).x, at(0).y}};
  for (int i = 0; i < (path.closed ? count : count - 1); ++i) {
    const Control& from = at(i);
    const Control& to = at(i + 1);
    // Corners and free ends have no neighbour for the tangent; the line between two of them is one segment.
    const bool starts = from.corner || (!path.closed && i == 0);
    const bool ends = to.corner || (!path.closed && i == count - 2);
    const int steps = starts && ends ? 1 : kSteps;
    for (int step = 1; step <= steps; ++step) {
      line.push_back(
          curve(starts ? from : at(i - 1), from, to, ends ? to : at(i + 2), static_cast<double>(step) / steps));
    }
  }
  return line;
}

// Adds horizontal serifs to both ends of each stroke.
void add_serifs(Strokes& strokes, double half) {
  const size_t count = strokes.size();
  for (size_t i = 0; i < count; ++i) {
    for (const Point end : {strokes[i].front(), strokes[i].back()}) {
      strokes.push_back({{end.x - half, end.y}, {end.x + half, end.y}});
    }
  }
}

}  // namespace

double wave(double phase) {
  const double x = 2 * (phase - std::floor(phase)) - 1;
  return 4 * x * (x < 0 ? -1 - x : x - 1);
}

Strokes write_digit(int digit, const Hand& hand, Random& random) {
  TRIBUTARY_CHECK(digit >= 0 && digit < 10, "no digit {}", digit);
  const Variant& variant = choose(variants()[static_cast<size_t>(digit)], hand.script, random);
  Strokes strokes;
  bool open = true;
  for (Path path : variant.paths) {
    for (Control& point : path.points) {
      point.x += 100 * hand.wobble * random.uniform(-1.7, 1.7);
      point.y += 100 * hand.wobble * random.uniform(-1.7, 1.7);
    }
    open = open && !path.closed;
    strokes.push_back(trace(path));
  }
  for (auto& stroke : strokes) {
    for (Point& point : stroke) point = {point.x / 100, point.y / 100};
  }
  if (hand.serif > 0 && open) add_serifs(strokes, hand.serif);
  if (hand.bend > 0) {
    const double phase_x = random.uniform();
    const double phase_y = random.uniform();
    for (auto& stroke : strokes) {
      for (Point& point : stroke) {
        point = {point.x + hand.bend * wave(0.8 * point.y + phase_x),
                 point.y + hand.bend * wave(0.8 * point.x + phase_y)};
      }
    }
  }
  return strokes;
}

Strokes project(const Strokes& strokes, const View& view) {
  const double cosine = (1 - view.turn * view.turn) / (1 + view.turn * view.turn);
  const double sine = 2 * view.turn / (1 + view.turn * view.turn);
  Strokes shown = strokes;
  for (auto& stroke : shown) {
    for (Point& point : stroke) {
      const double near = 1 - view.tilt_x * point.x - view.tilt_y * point.y;
      const double scale = 1 / (near < 0.3 ? 0.3 : near);
      const double x = view.width * scale * (point.x - view.slant * point.y);
      const double y = view.height * scale * point.y;
      point = {view.centre_x + cosine * x - sine * y, view.centre_y + sine * x + cosine * y};
    }
  }
  return shown;
}

Strokes shifted(Strokes strokes, double distance) {
  for (auto& stroke : strokes) {
    for (Point& point : stroke) point.x += distance;
  }
  return strokes;
}

}  // namespace tributary

#include "tributary/data/digits/digit_canvas.h"

#include <algorithm>
#include <cmath>

namespace tributary {
namespace {

// Draws one segment. Distances use the nib's metric, in which it is a circle.
void draw_segment(Plane& plane, Point from, Point to, const Pen& pen) {
  const double reach = pen.reach + pen.soft;
  const double rise = pen.rise + pen.soft;
  const int left = std::max(0, static_cast<int>(std::floor(std::min(from.x, to.x) - reach)));
  const int right = std::min(plane.size - 1, static_cast<int>(std::floor(std::max(from.x, to.x) + reach)));
  const int top = std::max(0, static_cast<int>(std::floor(std::min(from.y, to.y) - rise)));
  const int bottom = std::min(plane.size - 1, static_cast<int>(std::floor(std::max(from.y, to.y) + rise)));
  const double flat = pen.reach / pen.rise;
  const double dx = to.x - from.x;
  const double dy = (to.y - from.y) * flat;
  const double square = dx * dx + dy * dy;
  const double scale = square > 0 ? 1 / square : 0;
  for (int y = top; y <= bottom; ++y) {
    const double py = (y + 0.5 - from.y) * flat;
    for (int x = left; x <= right; ++x) {
      const double px = x + 0.5 - from.x;
      const double t = std::clamp((px * dx + py * dy) * scale, 0.0, 1.0);
      const double ex = px - t * dx;
      const double ey = py - t * dy;
      const double away = std::sqrt(ex * ex + ey * ey);
      const auto cover = static_cast<float>(std::clamp((pen.reach - away) / pen.soft + 0.5, 0.0, 1.0));
      float& value = plane.at(x, y);
      value = std::max(value, cover);
    }
  }
}

// The position of a pixel on the lattice: its cell, and the smooth interpolation weight of the cell's far side.
struct Spot {
  int cell;
  float weight;
};

std::vector<Spot> spots(int size, int cells) {
  std::vector<Spot> found(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    const float position = (static_cast<float>(i) + 0.5f) * static_cast<float>(cells) / static_cast<float>(size);
    const int cell = std::min(static_cast<int>(position), cells - 1);
    const float t = position - static_cast<float>(cell);
    found[static_cast<size_t>(i)] = {cell, t * t * (3 - 2 * t)};
  }
  return found;
}

}  // namespace

void draw(Plane& plane, const Strokes& strokes, const Pen& pen) {
  for (const auto& stroke : strokes) {
    for (size_t i = 1; i < stroke.size(); ++i) draw_segment(plane, stroke[i - 1], stroke[i], pen);
  }
}

void blur(Plane& plane, float amount, int times) {
  const int last = plane.size - 1;
  const float side = amount / 4;
  const float centre = 1 - amount / 2;
  Plane across(plane.size);
  for (int round = 0; round < times; ++round) {
    for (int y = 0; y <= last; ++y) {
      for (int x = 0; x <= last; ++x) {
        const float ends = plane.at(std::max(x - 1, 0), y) + plane.at(std::min(x + 1, last), y);
        across.at(x, y) = centre * plane.at(x, y) + side * ends;
      }
    }
    for (int y = 0; y <= last; ++y) {
      for (int x = 0; x <= last; ++x) {
        const float ends = across.at(x, std::max(y - 1, 0)) + across.at(x, std::min(y + 1, last));
        plane.at(x, y) = centre * across.at(x, y) + side * ends;
      }
    }
  }
}

Plane enlarged(const Plane& plane, int size) {
  Plane large(size);
  const int last = plane.size - 1;
  const auto position = [&](int i) {
    const float at = (static_cast<float>(i) + 0.5f) * static_cast<float>(plane.size) / static_cast<float>(size) - 0.5f;
    return std::clamp(at, 0.0f, static_cast<float>(last));
  };
  for (int y = 0; y < size; ++y) {
    const int y0 = std::min(static_cast<int>(position(y)), last - 1);
    const float down = position(y) - static_cast<float>(y0);
    for (int x = 0; x < size; ++x) {
      const int x0 = std::min(static_cast<int>(position(x)), last - 1);
      const float right = position(x) - static_cast<float>(x0);
      const float upper = plane.at(x0, y0) + right * (plane.at(x0 + 1, y0) - plane.at(x0, y0));
      const float lower = plane.at(x0, y0 + 1) + right * (plane.at(x0 + 1, y0 + 1) - plane.at(x0, y0 + 1));
      large.at(x, y) = upper + down * (lower - upper);
    }
  }
  return large;
}

Plane clouds(int size, int cells, int octaves, float roughness, Random& random) {
  Plane plane(size);
  float strength = 1;
  float total = 0;
  for (int octave = 0; octave < octaves; ++octave, cells *= 2, strength *= roughness) {
    Plane lattice(cells + 1);
    for (float& value : lattice.value) value = static_cast<float>(random.uniform());
    const auto spot = spots(size, cells);
    for (int y = 0; y < size; ++y) {
      const Spot down = spot[static_cast<size_t>(y)];
      for (int x = 0; x < size; ++x) {
        const Spot right = spot[static_cast<size_t>(x)];
        const float* upper = &lattice.value[static_cast<size_t>(down.cell) * lattice.size + right.cell];
        const float* lower = upper + lattice.size;
        const float above = upper[0] + right.weight * (upper[1] - upper[0]);
        const float below = lower[0] + right.weight * (lower[1] - lower[0]);
        plane.at(x, y) += strength * (above + down.weight * (below - above));
      }
    }
    total += strength;
  }
  for (float& value : plane.value) value /= total;
  return plane;
}

Plane ramp(int size, double sharpness, Random& random) {
  const double dx = random.uniform(-1, 1);
  const double dy = random.uniform(-1, 1);
  const double length = std::sqrt(dx * dx + dy * dy) + 1e-3;
  const double shift = sharpness > 1 ? random.uniform(-0.3, 0.3) : 0;
  Plane plane(size);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const double along = ((x + 0.5) * dx + (y + 0.5) * dy) / (length * size) - (dx + dy) / (2 * length);
      plane.at(x, y) = static_cast<float>(std::clamp(0.5 + sharpness * (along - shift), 0.0, 1.0));
    }
  }
  return plane;
}

void add_grain(Plane& plane, float deviation, Random& random) {
  // The sum of the four 16-bit parts of a random word is close to normal, and 12 times cheaper than bell().
  constexpr float kUnit = 1.0f / 37837.0f;  // standard deviation of the sum
  for (float& value : plane.value) {
    const uint64_t word = random.bits();
    const auto sum =
        static_cast<int64_t>((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
    value += deviation * kUnit * static_cast<float>(sum - 131070);
  }
}

Planes plain(int size, const Colour& colour) {
  return {Plane(size, colour[0]), Plane(size, colour[1]), Plane(size, colour[2])};
}

void paint(Planes& picture, const Colour& colour, const Plane& cover) {
  for (size_t channel = 0; channel < 3; ++channel) {
    auto& value = picture[channel].value;
    for (size_t i = 0; i < value.size(); ++i) value[i] += (colour[channel] - value[i]) * cover.value[i];
  }
}

void append_pixels(const Planes& picture, std::vector<uint8_t>& pixels) {
  for (size_t i = 0; i < picture[0].value.size(); ++i) {
    for (const Plane& plane : picture) {
      pixels.push_back(static_cast<uint8_t>(std::clamp(plane.value[i], 0.0f, 1.0f) * 255.0f + 0.5f));
    }
  }
}

}  // namespace tributary

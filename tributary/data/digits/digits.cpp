#include "tributary/data/digits/digits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/random.h"
#include "tributary/data/digits/digit_canvas.h"
#include "tributary/data/digits/digit_strokes.h"

namespace tributary {
namespace {

constexpr int kSize = 32;
constexpr double kCentre = kSize / 2.0;

float draw_float(Random& random, double low, double high) {
  return static_cast<float>(random.uniform(low, high));
}

Colour any_colour(Random& random, double low, double high) {
  Colour colour{};
  for (float& channel : colour) channel = draw_float(random, low, high);
  return colour;
}

float brightness(const Colour& colour) {
  return 0.3f * colour[0] + 0.59f * colour[1] + 0.11f * colour[2];
}

// A uniformly distributed parameter.
struct Range {
  double low;
  double high;

  double in(Random& random) const { return random.uniform(low, high); }
};

// The handwriting of a domain. See Hand for wobble and bend; lengths are in pixels.
struct Writing {
  double wobble;
  double bend;
  Range height;
  Range aspect;  // width / height; 1 for the skeleton's own
  Range slant;
  Range turn;
  Range reach;    // half the width of the pen's line
  double offset;  // maximum distance from the centre, in x and y
};

// The coverage of a handwritten digit on a page of `size`.
Plane written(int digit, const Writing& writing, int size, Random& random) {
  const Strokes strokes = write_digit(digit, {Script::kPen, writing.wobble, writing.bend, 0}, random);
  View view;
  view.height = writing.height.in(random);
  view.width = view.height * writing.aspect.in(random);
  view.slant = writing.slant.in(random);
  view.turn = writing.turn.in(random);
  view.centre_x = size / 2.0 + random.uniform(-writing.offset, writing.offset);
  view.centre_y = size / 2.0 + random.uniform(-writing.offset, writing.offset);
  const double reach = writing.reach.in(random);
  Plane cover(size);
  draw(cover, project(strokes, view), {reach, reach, 1.1});
  return cover;
}

Planes handwriting(int digit, Random& random) {
  static constexpr Writing kWriting = {
      .wobble = 0.035,
      .bend = 0.04,
      .height = {13.5, 20},
      .aspect = {0.8, 1.15},
      .slant = {-0.05, 0.6},
      .turn = {-0.12, 0.12},
      .reach = {0.7, 1.4},
      .offset = 2,
  };
  const Plane cover = written(digit, kWriting, kSize, random);
  return {cover, cover, cover};
}

// Drawn on 16 x 16 pixels with thick strokes, blurred and enlarged. Some scans are negatives, as from microfilm.
Planes postal(int digit, Random& random) {
  constexpr int kScan = 16;
  static constexpr Writing kWriting = {
      .wobble = 0.03,
      .bend = 0.04,
      .height = {13, 15},
      .aspect = {1.05, 1.5},
      .slant = {-0.45, 0.05},
      .turn = {-0.06, 0.06},
      .reach = {0.75, 1.55},
      .offset = 0.5,
  };
  Plane cover = written(digit, kWriting, kScan, random);
  blur(cover, draw_float(random, 0.3, 0.8));
  float paper = draw_float(random, 0.55, 0.95);
  float ink = draw_float(random, 0, 0.3);
  if (random.chance(0.4)) std::swap(paper, ink);
  for (float& value : cover.value) value = paper + (ink - paper) * value;
  add_grain(cover, 0.02f, random);
  const Plane scan = enlarged(cover, kSize);
  return {scan, scan, scan};
}

// Imitates a random crop of a colour photograph: clouds, up to two edges, fine detail.
Planes texture(Random& random) {
  Planes picture = plain(kSize, any_colour(random, 0, 0.65));
  const int edges = static_cast<int>(random.below(3));
  for (int edge = 0; edge < edges; ++edge) {
    const Plane side = ramp(kSize, random.uniform(2, 25), random);
    paint(picture, any_colour(random, 0, 0.75), side);
  }
  const Plane shape = clouds(kSize, 2, 4, 0.7f, random);
  const Plane fine = clouds(kSize, 8, 2, 0.8f, random);
  const Colour shade = any_colour(random, 0.5, 1.1);
  const Colour speck = any_colour(random, 0.1, 0.5);
  for (size_t channel = 0; channel < 3; ++channel) {
    auto& value = picture[channel].value;
    for (size_t i = 0; i < value.size(); ++i) {
      value[i] += shade[channel] * (shape.value[i] - 0.5f) + speck[channel] * (fine.value[i] - 0.5f);
      value[i] = std::clamp(value[i], 0.0f, 1.0f);
    }
  }
  return picture;
}

// The absolute difference of texture and strokes: light on dark, dark on light, and invisible on grey.
Planes textured(int digit, Random& random) {
  static constexpr Writing kWriting = {
      .wobble = 0.03,
      .bend = 0.03,
      .height = {17, 23},
      .aspect = {0.75, 1.1},
      .slant = {-0.15, 0.35},
      .turn = {-0.08, 0.08},
      .reach = {0.9, 1.9},
      .offset = 1.5,
  };
  const Plane cover = written(digit, kWriting, kSize, random);
  Planes picture = texture(random);
  for (Plane& plane : picture) {
    for (size_t i = 0; i < plane.value.size(); ++i) plane.value[i] = std::fabs(plane.value[i] - cover.value[i]);
  }
  return picture;
}

// A printed digit, with neighbours on each side with probability `crowd`.
Plane printed(int digit, const Hand& hand, const View& view, const Pen& pen, double spacing, double crowd,
              Random& random) {
  Plane cover(kSize);
  draw(cover, project(write_digit(digit, hand, random), view), pen);
  for (const double side : {-spacing, spacing}) {
    if (!random.chance(crowd)) continue;
    const auto other = static_cast<int>(random.below(10));
    draw(cover, project(shifted(write_digit(other, hand, random), side), view), pen);
  }
  return cover;
}

// Clean print in saturated colours; the background may have a colour gradient.
Planes signs(int digit, Random& random) {
  Hand hand{Script::kPrint, 0.006, 0, 0};
  if (random.chance(0.3)) hand.serif = random.uniform(0.05, 0.1);
  View view;
  view.height = random.uniform(22, 29);
  view.width = view.height * random.uniform(0.6, 0.95);
  view.slant = random.chance(0.3) ? random.uniform(0.1, 0.25) : 0;
  view.turn = random.uniform(-0.16, 0.16);
  view.centre_x = kCentre + random.uniform(-1.5, 1.5);
  view.centre_y = kCentre + random.uniform(-1.5, 1.5);
  const double reach = view.height * random.uniform(0.06, 0.13);
  const Pen pen{reach, reach * (random.chance(0.4) ? random.uniform(0.5, 0.8) : 1), 1};
  const double spacing = random.uniform(0.82, 1.0);
  Plane cover = printed(digit, hand, view, pen, spacing, 0.6, random);

  // Most signs are light on dark.
  Colour ground = any_colour(random, 0, 1);
  Colour ink = any_colour(random, 0, 1);
  while (std::fabs(brightness(ink) - brightness(ground)) < 0.35f) ink = any_colour(random, 0, 1);
  if (brightness(ink) < brightness(ground) && random.chance(0.7)) std::swap(ink, ground);
  Planes picture = plain(kSize, ground);
  if (random.chance(0.5)) {
    Plane fade = ramp(kSize, 1, random);
    for (float& value : fade.value) value *= 0.35f;
    paint(picture, any_colour(random, 0, 1), fade);
  }
  blur(cover, draw_float(random, 0, 0.8));
  paint(picture, ink, cover);
  return picture;
}

// Uneven light: a gradient over the picture and sometimes the edge of a shadow.
void shade(Planes& picture, Random& random) {
  Plane light = ramp(kSize, 1, random);
  const float depth = draw_float(random, 0, 0.4);
  for (float& value : light.value) value = 1 - depth * value;
  if (random.chance(0.35)) {
    const Plane dark = ramp(kSize, random.uniform(5, 20), random);
    const float loss = draw_float(random, 0.15, 0.4);
    for (size_t i = 0; i < light.value.size(); ++i) light.value[i] *= 1 - loss * dark.value[i];
  }
  for (Plane& plane : picture) {
    for (size_t i = 0; i < plane.value.size(); ++i) plane.value[i] *= light.value[i];
  }
}

// Print in perspective on a rough wall, with uneven light, blur and noise.
Planes street(int digit, Random& random) {
  Hand hand{Script::kPrint, 0.012, 0.01, 0};
  if (random.chance(0.2)) hand.serif = random.uniform(0.04, 0.08);
  View view;
  view.height = random.uniform(19, 27);
  view.width = view.height * random.uniform(0.65, 1.0);
  view.slant = random.uniform(-0.1, 0.2);
  view.turn = random.uniform(-0.08, 0.08);
  view.tilt_x = random.uniform(-0.35, 0.35);
  view.tilt_y = random.uniform(-0.2, 0.2);
  view.centre_x = kCentre + random.uniform(-2, 2);
  view.centre_y = kCentre + random.uniform(-1.5, 1.5);
  const double reach = view.height * random.uniform(0.045, 0.095);
  const Pen pen{reach, reach * random.uniform(0.7, 1), 1};
  const double spacing = random.uniform(0.8, 1);
  const Plane cover = printed(digit, hand, view, pen, spacing, 0.6, random);

  // Walls and plates are tinted greys.
  const auto tinted = [&random](double level) {
    Colour colour = any_colour(random, -0.12, 0.12);
    for (float& channel : colour) channel += static_cast<float>(level);
    return colour;
  };
  const double level = random.uniform(0.2, 0.8);
  const double contrast = random.uniform(0.24, 0.52);
  const bool darker = level > 0.65 || (level > 0.35 && random.chance(0.5));
  Planes picture = plain(kSize, tinted(level));
  const Plane wall = clouds(kSize, 3, 3, 0.6f, random);
  const float rough = draw_float(random, 0.05, 0.3);
  for (Plane& plane : picture) {
    for (size_t i = 0; i < plane.value.size(); ++i) plane.value[i] += rough * (wall.value[i] - 0.5f);
  }
  paint(picture, tinted(darker ? level - contrast : level + contrast), cover);
  shade(picture, random);
  const auto times = static_cast<int>(1 + random.below(3));
  const float grain = draw_float(random, 0.01, 0.035);
  for (Plane& plane : picture) {
    blur(plane, 0.9f, times);
    add_grain(plane, grain, random);
  }
  return picture;
}

Planes picture_of(DigitDomain domain, int digit, Random& random) {
  switch (domain) {
    case DigitDomain::kHandwriting:
      return handwriting(digit, random);
    case DigitDomain::kPostal:
      return postal(digit, random);
    case DigitDomain::kTextured:
      return textured(digit, random);
    case DigitDomain::kSigns:
      return signs(digit, random);
    case DigitDomain::kStreet:
      return street(digit, random);
  }
  TRIBUTARY_CHECK(false, "no digit domain {}", static_cast<int>(domain));
  return plain(kSize, {});
}

}  // namespace

const std::vector<std::string>& digit_domain_names() {
  static const std::vector<std::string> kNames = {"handwriting", "postal", "textured", "signs", "street"};
  return kNames;
}

DigitDomain digit_domain(const std::string& name) {
  const auto& names = digit_domain_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string known;
    for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
    input_error("unknown digit domain '{}'; choose one of {}", name, known);
  }
  return static_cast<DigitDomain>(found - names.begin());
}

LabelledImages make_digits(DigitDomain domain, int64_t count, uint64_t seed) {
  constexpr uint64_t kLabels = 1;  // separates the random stream of the labels from those of the pictures
  TRIBUTARY_CHECK(count >= 0, "{} pictures requested", count);
  const auto stream = static_cast<uint64_t>(domain);
  const std::string& name = digit_domain_names().at(stream);
  LabelledImages made;
  made.images.height = kSize;
  made.images.width = kSize;
  made.images.pixels.reserve(static_cast<size_t>(count) * kSize * kSize * 3);
  for (int digit = 0; digit < 10; ++digit) made.labels.classes.push_back(std::to_string(digit));
  std::vector<int64_t> block;
  for (int64_t i = 0; i < count; ++i) {
    if (i % 10 == 0)
      block = Random(seed, Purpose::kDigits, {stream, static_cast<uint64_t>(i / 10), kLabels}).permutation(10);
    const int64_t digit = block[static_cast<size_t>(i % 10)];
    Random random(seed, Purpose::kDigits, {stream, static_cast<uint64_t>(i)});
    append_pixels(picture_of(domain, static_cast<int>(digit), random), made.images.pixels);
    made.images.names.push_back(fmt::format("{}[{}]", name, i));
    made.labels.values.push_back(digit);
  }
  return made;
}

}  // namespace tributary

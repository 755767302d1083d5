#include "tributary/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tributary/base/error.h"

namespace tributary {
namespace {

// Of 32 bits, 8 are for the pixel and 2 are headroom.
constexpr int kWeightBits = 32 - 8 - 2;
constexpr int32_t kHalf = int32_t{1} << (kWeightBits - 1);

// The source pixels of one output pixel: `count` pixels from `first`.
struct Window {
  int first;
  int count;
  size_t weights;  // offset into Filter::weights
};

struct Filter {
  std::vector<Window> windows;   // per output pixel
  std::vector<int32_t> weights;  // fixed point with kWeightBits fractional bits; each window sums to about 1
};

// The weight at a distance from the centre, in pixels of the coarser picture.
double weight_at(double distance, Interpolation interpolation) {
  if (interpolation == Interpolation::kBilinear) return distance < 1 ? 1 - distance : 0;
  constexpr double kSlope = -0.5;  // of the cubic at a distance of one
  if (distance < 1) return ((kSlope + 2) * distance - (kSlope + 3)) * distance * distance + 1;
  return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * kSlope : 0;
}

int32_t fixed_point(double weight) {
  return static_cast<int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (int32_t{1} << kWeightBits));
}

// The filter from `in_size` to `out_size` pixels. Weights reach zero at a distance of one (bilinear) or two (bicubic)
// pixels of the coarser picture.
Filter filter_of(int in_size, int out_size, Interpolation interpolation) {
  const double scale = static_cast<double>(in_size) / out_size;
  const double unit = std::max(scale, 1.0);
  const double reach = interpolation == Interpolation::kBilinear ? unit : 2 * unit;
  Filter filter;
  filter.windows.reserve(static_cast<size_t>(out_size));
  filter.weights.reserve(static_cast<size_t>(out_size) * (2 * static_cast<size_t>(std::ceil(reach)) + 1));
  std::vector<double> exact;
  for (int out = 0; out < out_size; ++out) {
    const double centre = (out + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - reach + 0.5));
    const int end = std::min(in_size, static_cast<int>(centre + reach + 0.5));
    exact.clear();
    double total = 0;
    for (int in = first; in < end; ++in) {
      exact.push_back(weight_at(std::abs((in - centre + 0.5) * (1.0 / unit)), interpolation));
      total += exact.back();
    }
    filter.windows.push_back({first, end - first, filter.weights.size()});
    for (const double weight : exact) filter.weights.push_back(fixed_point(total != 0 ? weight / total : weight));
  }
  return filter;
}

uint8_t to_pixel(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

Picture resize_rows(const Picture& picture, int width, Interpolation interpolation) {
  const Filter filter = filter_of(picture.width, width, interpolation);
  Picture result{picture.height, width, {}};
  result.rgb.resize(static_cast<size_t>(result.row_bytes() * result.height));
  uint8_t* out = result.rgb.data();
  for (int y = 0; y < picture.height; ++y) {
    const uint8_t* row = picture.rgb.data() + picture.row_bytes() * y;
    for (const Window& window : filter.windows) {
      const uint8_t* in = row + int64_t{3} * window.first;
      const int32_t* weight = filter.weights.data() + window.weights;
      int32_t red = kHalf, green = kHalf, blue = kHalf;
      for (int i = 0; i < window.count; ++i, in += 3) {
        red += weight[i] * in[0];
        green += weight[i] * in[1];
        blue += weight[i] * in[2];
      }
      *out++ = to_pixel(red);
      *out++ = to_pixel(green);
      *out++ = to_pixel(blue);
    }
  }
  return result;
}

Picture resize_columns(const Picture& picture, int height, Interpolation interpolation) {
  const Filter filter = filter_of(picture.height, height, interpolation);
  Picture result{height, picture.width, {}};
  const auto row_bytes = static_cast<size_t>(picture.row_bytes());
  result.rgb.resize(row_bytes * static_cast<size_t>(height));
  uint8_t* out = result.rgb.data();
  // Accumulates whole rows: sequential memory access, and an inner loop without dependencies.
  std::vector<int32_t> sums(row_bytes);
  for (const Window& window : filter.windows) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (int i = 0; i < window.count; ++i) {
      const int32_t weight = filter.weights[window.weights + static_cast<size_t>(i)];
      const uint8_t* in = picture.rgb.data() + row_bytes * static_cast<size_t>(window.first + i);
      for (size_t x = 0; x < row_bytes; ++x) sums[x] += weight * in[x];
    }
    for (size_t x = 0; x < row_bytes; ++x) out[x] = to_pixel(sums[x]);
    out += row_bytes;
  }
  return result;
}

}  // namespace

Picture resize_picture(const Picture& picture, int height, int width, Interpolation interpolation) {
  TRIBUTARY_CHECK(height > 0 && width > 0 && picture.height > 0 && picture.width > 0, "resize {} x {} to {} x {}",
                  picture.width, picture.height, width, height);
  if (picture.width == width && picture.height == height) return picture;
  if (picture.width == width) return resize_columns(picture, height, interpolation);
  if (picture.height == height) return resize_rows(picture, width, interpolation);
  return resize_columns(resize_rows(picture, width, interpolation), height, interpolation);
}

}  // namespace tributary

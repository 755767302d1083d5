#include "tributary/model_io/fit_tensor.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tributary {
namespace {

int64_t exact_root(int64_t number) {
  const auto root = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(number))));
  return root * root == number ? root : 0;
}

std::vector<int64_t> without_ones(torch::IntArrayRef shape) {
  std::vector<int64_t> rest = shape.vec();
  std::erase(rest, 1);
  return rest;
}

// Positions [1, count, channels] of one grid as those of another.
Tensor fitted_positions(const Tensor& value, const Tensor& needed) {
  const int64_t channels = needed.size(2), from = grid_side(value.size(1)), to = grid_side(needed.size(1));
  if (from == 0 || to == 0) return {};
  Tensor patches = value.narrow(1, value.size(1) - from * from, from * from);
  if (from != to) {
    const Tensor grid = patches.view({1, from, from, channels}).permute({0, 3, 1, 2}).contiguous();
    patches = at::_upsample_bicubic2d_aa(grid, {to, to}, /*align_corners=*/false)
                  .permute({0, 2, 3, 1})
                  .reshape({1, to * to, channels});
  }
  if (needed.size(1) == to * to) return patches;
  const Tensor first =
      value.size(1) > from * from ? value.narrow(1, 0, 1) : torch::zeros({1, 1, channels}, value.options());
  return at::cat({first, patches}, 1);
}

}  // namespace

int64_t grid_side(int64_t positions) {
  return std::max(exact_root(positions), exact_root(positions - 1));
}

Tensor fitted(const Tensor& value, const Tensor& needed, const std::string& name) {
  if (value.sizes() == needed.sizes()) return value;
  if (name.ends_with("encoder.pos_embedding") && value.dim() >= 2 && value.size(-1) == needed.size(2) &&
      value.numel() == value.size(-2) * value.size(-1))
    return fitted_positions(value.view({1, value.size(-2), value.size(-1)}), needed);
  return without_ones(value.sizes()) == without_ones(needed.sizes()) ? value.view(needed.sizes()) : Tensor();
}

}  // namespace tributary

#include "tributary/model/window_attention.h"

#include <cmath>
#include <map>
#include <mutex>

#include "tributary/model/transformer_layers.h"

namespace tributary {
namespace {

constexpr int64_t kHidden = 512;       // of the network of relative positions
constexpr double kLargestBias = 16;    // Swin v2
constexpr double kLargestScale = 100;  // of cosines, Swin v2
constexpr double kStartScale = 10;
constexpr double kMasked = -100;

// Index of the relative position of every pair of tokens of a window.
Tensor position_index(int64_t window) {
  const Tensor one = torch::arange(window);
  const Tensor row = one.repeat_interleave(window), column = one.repeat({window});
  const Tensor rows = row.unsqueeze(1) - row.unsqueeze(0) + window - 1;
  const Tensor columns = column.unsqueeze(1) - column.unsqueeze(0) + window - 1;
  return (rows * (2 * window - 1) + columns).flatten();
}

// Relative positions on a logarithmic scale, [2 window - 1, 2 window - 1, 2].
Tensor position_coords(int64_t window) {
  constexpr double kRange = 8;
  const Tensor one =
      torch::arange(-(window - 1), window).to(torch::kFloat32) / static_cast<double>(window - 1) * kRange;
  const Tensor scaled = one.sign() * at::log2(one.abs() + 1) / std::log2(kRange);
  const int64_t side = 2 * window - 1;
  return at::stack({scaled.view({side, 1}).expand({side, side}), scaled.view({1, side}).expand({side, side})}, -1)
      .contiguous();
}

// Both of a window, computed once: every block of a network has the same.
std::pair<Tensor, Tensor> shared_positions(int64_t window) {
  static std::mutex mutex;
  static std::map<int64_t, std::pair<Tensor, Tensor>> known;
  const std::lock_guard lock(mutex);
  auto& both = known[window];
  if (!both.first.defined()) both = {position_index(window), position_coords(window)};
  return both;
}

Tensor window_parameter(Tensor value) {
  return value.requires_grad_();
}

// [n, rows * window, columns * window, c] to [n * rows * columns, window^2, c].
Tensor partition(const Tensor& x, const WindowAttention::Layout& layout, int64_t window) {
  return x.view({x.size(0), layout.rows, window, layout.columns, window, x.size(3)})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({-1, window * window, x.size(3)});
}

// Windows whose tokens come from different sides of the rolled map, by number of the part.
Tensor shift_mask(const WindowAttention::Layout& layout, int64_t window) {
  Tensor part = torch::zeros({1, layout.height, layout.width, 1});
  const auto bounds = [&](int64_t size, int64_t shift) {
    return std::vector<int64_t>{0, size - window, size - shift, size};
  };
  const std::vector<int64_t> rows = bounds(layout.height, layout.shift_height),
                             columns = bounds(layout.width, layout.shift_width);
  double number = 0;
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      part.slice(1, rows[i], rows[i + 1]).slice(2, columns[j], columns[j + 1]).fill_(number++);
  const Tensor parts = partition(part, layout, window).squeeze(-1);
  const Tensor differ = parts.unsqueeze(1) != parts.unsqueeze(2);
  return (differ.to(torch::kFloat32) * kMasked).unsqueeze(1);
}

}  // namespace

WindowAttention::WindowAttention(const WindowShape& given, const Init& init)
    : shape(given),
      qkv(given.channels, 3 * given.channels, Start::kNarrow, child(init, 0)),
      projection(given.channels, given.channels, Start::kNarrow, child(init, 1)) {
  const int64_t positions = (2 * given.window - 1) * (2 * given.window - 1);
  if (!given.cosine) {
    table = normal_parameter({positions, given.heads}, 0.02, child(init, 2));
    return;
  }
  scale = window_parameter(torch::full({given.heads, 1, 1}, std::log(kStartScale), torch::kFloat32));
  hidden_weight = normal_parameter({kHidden, 2}, 0.02, child(init, 2));
  hidden_bias = window_parameter(torch::zeros({kHidden}));
  spatial = normal_parameter({given.heads, kHidden}, 0.02, child(init, 3));
}

WindowAttention::Layout WindowAttention::layout(int64_t height, int64_t width) const {
  const int64_t window = shape.window;
  Layout result{};
  result.rows = (height + window - 1) / window;
  result.columns = (width + window - 1) / window;
  result.height = result.rows * window;
  result.width = result.columns * window;
  const int64_t shift = shape.shifted ? window / 2 : 0;
  result.shift_height = result.rows > 1 ? shift : 0;
  result.shift_width = result.columns > 1 ? shift : 0;
  return result;
}

const WindowAttention::Constants& WindowAttention::constants(const Layout& layout) const {
  const torch::Device device = qkv.weight.device();
  for (const Constants& known : constants_)
    if (known.device == device && known.height == layout.height && known.width == layout.width) return known;
  const int64_t window = shape.window;
  Constants made{device, layout.height, layout.width, position_index(window).to(device), {}, {}};
  if (shape.cosine) made.coords = position_coords(window).flatten(0, 1).to(device);
  if (layout.shift_height + layout.shift_width > 0) made.mask = shift_mask(layout, window).to(device);
  constants_.push_back(std::move(made));
  return constants_.back();
}

Tensor WindowAttention::bias(const Layout& layout) const {
  const Constants& fixed = constants(layout);
  const int64_t tokens = shape.window * shape.window;
  Tensor positions = table;
  if (shape.cosine) positions = at::linear(at::linear(fixed.coords, hidden_weight, hidden_bias).relu(), spatial);
  Tensor of_pairs = positions.index_select(0, fixed.index).view({tokens, tokens, shape.heads}).permute({2, 0, 1});
  if (shape.cosine) of_pairs = of_pairs.sigmoid() * kLargestBias;
  of_pairs = of_pairs.unsqueeze(0);
  return fixed.mask.defined() ? of_pairs + fixed.mask : of_pairs;
}

Tensor WindowAttention::logit_scale() const {
  if (shape.cosine) return scale.clamp_max(std::log(kLargestScale)).exp();
  const int64_t width = shape.channels / shape.heads;
  return torch::full({}, 1 / std::sqrt(static_cast<double>(width)), torch::kFloat32);
}

Tensor WindowAttention::qkv_bias() const {
  if (!shape.cosine) return qkv.bias;
  const int64_t channels = shape.channels;
  const Tensor none = torch::zeros({channels}, qkv.bias.options().requires_grad(false));
  return at::cat({qkv.bias.narrow(0, 0, channels), none, qkv.bias.narrow(0, 2 * channels, channels)});
}

Tensor WindowAttention::operator()(const Tensor& x) const {
  const int64_t n = x.size(0), height = x.size(1), width = x.size(2), channels = x.size(3);
  const int64_t window = shape.window, tokens = window * window, depth = channels / shape.heads;
  const Layout map = layout(height, width);
  const bool rolls = map.shift_height + map.shift_width > 0;
  Tensor padded = at::constant_pad_nd(x, {0, 0, 0, map.width - width, 0, map.height - height});
  if (rolls) padded = padded.roll({-map.shift_height, -map.shift_width}, {1, 2});
  const Tensor parts = partition(padded.contiguous(), map, window);
  const std::vector<Tensor> split = at::linear(parts, qkv.weight, qkv_bias())
                                        .view({-1, tokens, 3, shape.heads, depth})
                                        .permute({2, 0, 3, 1, 4})
                                        .unbind(0);
  const auto unit = [](const Tensor& rows) { return rows / rows.norm(2, {-1}, true).clamp_min(1e-12); };
  Tensor logits = shape.cosine
                      ? unit(split[0]).matmul(unit(split[1]).transpose(-2, -1)) * logit_scale()
                      : (split[0] * (1 / std::sqrt(static_cast<double>(depth)))).matmul(split[1].transpose(-2, -1));
  logits = (logits.view({n, -1, shape.heads, tokens, tokens}) + bias(map)).view({-1, shape.heads, tokens, tokens});
  const Tensor mixed = logits.softmax(-1).matmul(split[2]).transpose(1, 2).reshape({-1, tokens, channels});
  Tensor out = projection(mixed)
                   .view({n, map.rows, map.columns, window, window, channels})
                   .permute({0, 1, 3, 2, 4, 5})
                   .reshape({n, map.height, map.width, channels});
  if (rolls) out = out.roll({map.shift_height, map.shift_width}, {1, 2});
  return out.narrow(1, 0, height).narrow(2, 0, width);
}

void WindowAttention::list(const std::string& prefix, TensorList& list) const {
  if (table.defined()) list.parameters.push_back({prefix + ".relative_position_bias_table", table});
  if (scale.defined()) {
    list.parameters.push_back({prefix + ".logit_scale", scale});
    list.parameters.push_back({prefix + ".cpb_mlp.0.weight", hidden_weight});
    list.parameters.push_back({prefix + ".cpb_mlp.0.bias", hidden_bias});
    list.parameters.push_back({prefix + ".cpb_mlp.2.weight", spatial});
  }
  qkv.list(prefix + ".qkv", list);
  projection.list(prefix + ".proj", list);
}

void WindowAttention::list_constants(const std::string& prefix, NamedTensors& constants) const {
  const auto [index, coords] = shared_positions(shape.window);
  constants.push_back({prefix + ".relative_position_index", index});
  if (shape.cosine) constants.push_back({prefix + ".relative_coords_table", coords.unsqueeze(0)});
}

}  // namespace tributary

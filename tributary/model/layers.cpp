#include "tributary/model/layers.h"

#include <algorithm>
#include <cmath>

#include "tributary/model/sync_batch_norm.h"

namespace tributary {
namespace {

template <typename Draw>
Tensor filled(torch::IntArrayRef shape, Draw draw) {
  Tensor tensor = torch::empty(shape, torch::kFloat32);
  float* value = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) value[i] = static_cast<float>(draw());
  return tensor;
}

Tensor uniform(torch::IntArrayRef shape, double bound, Random random) {
  return filled(shape, [&] { return random.uniform(-bound, bound); });
}

Tensor normal(torch::IntArrayRef shape, double deviation, Random random) {
  return filled(shape, [&] { return deviation * random.normal(); });
}

Tensor initial_weight(torch::IntArrayRef shape, int64_t fan_in, int64_t fan_out, Start start, const Init& init) {
  if (!init) return torch::empty(shape, torch::kFloat32);
  switch (start) {
    case Start::kDefault:
      return uniform(shape, 1 / std::sqrt(static_cast<double>(fan_in)), *init);
    case Start::kFanOut:
      return normal(shape, std::sqrt(2.0 / static_cast<double>(fan_out)), *init);
    case Start::kSmall:
      return normal(shape, 0.01, *init);
    case Start::kXavier:
      return normal(shape, std::sqrt(2.0 / static_cast<double>(fan_in + fan_out)), *init);
    case Start::kNarrow:
      return normal(shape, 0.02, *init);
  }
  return {};
}

Tensor parameter(Tensor value) {
  return value.requires_grad_();
}

}  // namespace

std::string tensor_name(const std::string& layer, const std::string& tensor) {
  return layer.ends_with('_') ? layer + tensor : layer + "." + tensor;
}

Conv2d::Conv2d(const ConvShape& shape, Start start, const Init& init)
    : stride(shape.stride), padding(shape.padding), groups(shape.groups), same(shape.same) {
  const int64_t area = shape.kernel * shape.kernel;
  const int64_t fan_in = shape.in / groups * area;
  const std::vector<int64_t> extents = {shape.out, shape.in / groups, shape.kernel, shape.kernel};
  // Uninitialised weights are not copied, so that building a network to read its shapes is fast.
  weight = parameter(init ? initial_weight(extents, fan_in, shape.out / groups * area, start, child(init, 0))
                                .contiguous(at::MemoryFormat::ChannelsLast)
                          : torch::empty(extents, torch::kFloat32, at::MemoryFormat::ChannelsLast));
  if (!shape.bias) return;
  const bool random = init && start == Start::kDefault;
  bias = parameter(random ? uniform({shape.out}, 1 / std::sqrt(static_cast<double>(fan_in)), init->child(1))
                          : torch::zeros({shape.out}));
}

std::pair<int64_t, int64_t> Conv2d::pads(int64_t side) const {
  if (!same) return {padding, padding};
  const int64_t out = (side + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + weight.size(2) - side);
  return {total / 2, total - total / 2};
}

Tensor Conv2d::operator()(const Tensor& x) const {
  if (same) {
    const auto [top, bottom] = pads(x.size(2));
    const auto [left, right] = pads(x.size(3));
    return at::conv2d(at::constant_pad_nd(x, {left, right, top, bottom}), weight, bias, stride, at::IntArrayRef{0, 0},
                      /*dilation=*/1, groups);
  }
  return at::conv2d(x, weight, bias, stride, padding, /*dilation=*/1, groups);
}

void Conv2d::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  if (bias.defined()) list.parameters.push_back({prefix + ".bias", bias});
}

BatchNorm::BatchNorm(int64_t channels, double epsilon_value)
    : weight(parameter(torch::ones({channels}))),
      bias(parameter(torch::zeros({channels}))),
      running_mean(torch::zeros({channels})),
      running_var(torch::ones({channels})),
      num_batches_tracked(torch::zeros({}, torch::kInt64)),
      epsilon(epsilon_value) {}

Tensor BatchNorm::operator()(const Tensor& x, const DropoutStream* dropout_stream) {
  const bool training = dropout_stream != nullptr && !frozen;
  const bool updates = !(training && keep_running_stats);
  if (training && comm)
    return sync_batch_norm(
        *comm, x, {weight, bias, updates ? running_mean : Tensor(), updates ? running_var : Tensor(), 0.1, epsilon});
  return at::batch_norm(x, weight, bias, updates ? running_mean : Tensor(), updates ? running_var : Tensor(), training,
                        0.1, epsilon, /*cudnn_enabled=*/true);
}

void BatchNorm::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  list.parameters.push_back({prefix + ".bias", bias});
  list.buffers.push_back({prefix + ".running_mean", running_mean});
  list.buffers.push_back({prefix + ".running_var", running_var});
  list.buffers.push_back({prefix + ".num_batches_tracked", num_batches_tracked});
}

void count_batch(const std::vector<BatchNorm*>& layers) {
  if (layers.empty()) return;
  std::vector<Tensor> counters;
  for (const BatchNorm* layer : layers)
    if (!layer->frozen) counters.push_back(layer->num_batches_tracked);
  at::_foreach_add_(counters, 1);
}

Linear::Linear(int64_t in, int64_t out, Start start, const Init& init, bool with_bias)
    : weight(parameter(initial_weight({out, in}, in, out, start, init))) {
  if (with_bias) bias = parameter(torch::zeros({out}));
}

Tensor Linear::operator()(const Tensor& x) const {
  return at::linear(x, weight, bias);
}

void Linear::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({tensor_name(prefix, "weight"), weight});
  if (bias.defined()) list.parameters.push_back({tensor_name(prefix, "bias"), bias});
}

WeightNormLinear::WeightNormLinear(int64_t in, int64_t out, Start start, const Init& init) {
  Tensor v = initial_weight({out, in}, in, out, start, init);
  weight_g = parameter(v.norm(2, {1}, true));
  weight_v = parameter(v);
  bias = parameter(torch::zeros({out}));
}

Tensor WeightNormLinear::weight() const {
  return at::_weight_norm(weight_v, weight_g, 0);
}

Tensor WeightNormLinear::operator()(const Tensor& x) const {
  return at::linear(x, weight(), bias);
}

void WeightNormLinear::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight_v", weight_v});
  list.parameters.push_back({prefix + ".weight_g", weight_g});
  list.parameters.push_back({prefix + ".bias", bias});
}

Tensor dropout(const Tensor& x, double drop, DropoutStream* dropout_stream) {
  return dropout_stream ? x * dropout_stream->mask(x.sizes(), drop) : x;
}

Tensor dropout_channels(const Tensor& x, double drop, DropoutStream* dropout_stream) {
  return dropout_stream ? x * dropout_stream->mask({x.size(0), x.size(1), 1, 1}, drop) : x;
}

}  // namespace tributary

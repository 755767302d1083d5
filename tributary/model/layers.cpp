#include "tributary/model/layers.h"

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
  }
  return {};
}

Tensor parameter(Tensor value) {
  return value.requires_grad_();
}

}  // namespace

Conv2d::Conv2d(const ConvShape& shape, Start start, const Init& init)
    : stride(shape.stride), padding(shape.padding), groups(shape.groups) {
  const int64_t area = shape.kernel * shape.kernel;
  const int64_t fan_in = shape.in / groups * area;
  weight = parameter(initial_weight({shape.out, shape.in / groups, shape.kernel, shape.kernel}, fan_in,
                                    shape.out / groups * area, start, child(init, 0))
                         .contiguous(at::MemoryFormat::ChannelsLast));
  if (!shape.bias) return;
  const bool random = init && start == Start::kDefault;
  bias = parameter(random ? uniform({shape.out}, 1 / std::sqrt(static_cast<double>(fan_in)), init->child(1))
                          : torch::zeros({shape.out}));
}

Tensor Conv2d::operator()(const Tensor& x) const {
  return at::conv2d(x, weight, bias, stride, padding, /*dilation=*/1, groups);
}

void Conv2d::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  if (bias.defined()) list.parameters.push_back({prefix + ".bias", bias});
}

BatchNorm::BatchNorm(int64_t channels)
    : weight(parameter(torch::ones({channels}))),
      bias(parameter(torch::zeros({channels}))),
      running_mean(torch::zeros({channels})),
      running_var(torch::ones({channels})),
      num_batches_tracked(torch::zeros({}, torch::kInt64)) {}

Tensor BatchNorm::operator()(const Tensor& x, const DropoutStream* dropout_stream) {
  const bool training = dropout_stream != nullptr && !frozen;
  const bool updates = !(training && keep_running_stats);
  if (training && comm)
    return sync_batch_norm(
        *comm, x,
        {weight, bias, updates ? running_mean : Tensor(), updates ? running_var : Tensor(), 0.1, kBatchNormEpsilon});
  return at::batch_norm(x, weight, bias, updates ? running_mean : Tensor(), updates ? running_var : Tensor(), training,
                        0.1, kBatchNormEpsilon, /*cudnn_enabled=*/true);
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

Linear::Linear(int64_t in, int64_t out, Start start, const Init& init)
    : weight(parameter(initial_weight({out, in}, in, out, start, init))), bias(parameter(torch::zeros({out}))) {}

Tensor Linear::operator()(const Tensor& x) const {
  return at::linear(x, weight, bias);
}

void Linear::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  list.parameters.push_back({prefix + ".bias", bias});
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

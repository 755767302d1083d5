#include "tributary/model/layers.h"

#include <cmath>

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

Tensor xavier_normal(int64_t out, int64_t in, Random random) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(in + out));
  return filled({out, in}, [&] { return deviation * random.normal(); });
}

Tensor parameter(Tensor value) {
  return value.requires_grad_();
}

}  // namespace

Conv2d::Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride_, int64_t padding_, Random init)
    : stride(stride_), padding(padding_) {
  const double bound = 1 / std::sqrt(static_cast<double>(in * kernel * kernel));
  weight =
      parameter(uniform({out, in, kernel, kernel}, bound, init.child(0)).contiguous(at::MemoryFormat::ChannelsLast));
  bias = parameter(uniform({out}, bound, init.child(1)));
}

Tensor Conv2d::operator()(const Tensor& x) const {
  return at::conv2d(x, weight, bias, stride, padding);
}

void Conv2d::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  list.parameters.push_back({prefix + ".bias", bias});
}

BatchNorm::BatchNorm(int64_t channels)
    : weight(parameter(torch::ones({channels}))),
      bias(parameter(torch::zeros({channels}))),
      running_mean(torch::zeros({channels})),
      running_var(torch::ones({channels})),
      num_batches_tracked(torch::zeros({}, torch::kInt64)) {}

Tensor BatchNorm::operator()(const Tensor& x, const Noise* noise) {
  const bool training = noise != nullptr;
  if (training) num_batches_tracked.add_(1);
  return at::batch_norm(x, weight, bias, running_mean, running_var, training, 0.1, 1e-5, true);
}

void BatchNorm::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  list.parameters.push_back({prefix + ".bias", bias});
  list.buffers.push_back({prefix + ".running_mean", running_mean});
  list.buffers.push_back({prefix + ".running_var", running_var});
  list.buffers.push_back({prefix + ".num_batches_tracked", num_batches_tracked});
}

Linear::Linear(int64_t in, int64_t out, Random init)
    : weight(parameter(xavier_normal(out, in, init))), bias(parameter(torch::zeros({out}))) {}

Tensor Linear::operator()(const Tensor& x) const {
  return at::linear(x, weight, bias);
}

void Linear::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  list.parameters.push_back({prefix + ".bias", bias});
}

WeightNormLinear::WeightNormLinear(int64_t in, int64_t out, WeightNormInit kind, Random init) {
  Tensor v = kind == WeightNormInit::kXavier ? xavier_normal(out, in, init)
                                             : uniform({out, in}, 1 / std::sqrt(static_cast<double>(in)), init);
  weight_g = parameter(v.norm(2, {1}, true));
  weight_v = parameter(v);
  bias = parameter(torch::zeros({out}));
}

Tensor WeightNormLinear::operator()(const Tensor& x) const {
  return at::linear(x, at::_weight_norm(weight_v, weight_g, 0), bias);
}

void WeightNormLinear::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight_v", weight_v});
  list.parameters.push_back({prefix + ".weight_g", weight_g});
  list.parameters.push_back({prefix + ".bias", bias});
}

Tensor dropout(const Tensor& x, double drop, Noise* noise) {
  return noise ? x * noise->mask(x.sizes(), drop) : x;
}

Tensor dropout_channels(const Tensor& x, double drop, Noise* noise) {
  return noise ? x * noise->mask({x.size(0), x.size(1), 1, 1}, drop) : x;
}

}  // namespace tributary

// The layers our networks are made of: plain structs of tensors with the arithmetic of their PyTorch namesakes.
//
// They carry no training flag: a forward pass with a `Noise` uses batch statistics and dropout, one without uses the
// running statistics and none (spec 10). `list` gives every tensor its name in model files.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"
#include "tributary/model/noise.h"

namespace tributary {

struct NamedTensor {
  std::string name;
  Tensor value;
};
using NamedTensors = std::vector<NamedTensor>;

// Parameters are trained, buffers (running statistics) are not; both are saved.
struct TensorList {
  NamedTensors parameters;
  NamedTensors buffers;
};

struct Conv2d {
  Tensor weight, bias;
  int64_t stride, padding;

  // Weight and bias uniform in +-1/sqrt(fan_in), the framework's default.
  Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, Random init);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

// BatchNorm over all but the channel dimension; momentum 0.1, eps 1e-5, unbiased variance in the running statistics.
struct BatchNorm {
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

  explicit BatchNorm(int64_t channels);
  Tensor operator()(const Tensor& x, const Noise* noise);
  void list(const std::string& prefix, TensorList& list) const;
};

struct Linear {
  Tensor weight, bias;

  // Xavier-normal weight, zero bias (spec 10, 2c).
  Linear(int64_t in, int64_t out, Random init);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

// How the classifier's direction vectors start: as the research scripts effectively do (their Xavier draw is lost in
// the next forward pass), or with Xavier-normal as they meant to.
enum class WeightNormInit { kUniform, kXavier };

// A linear layer with weight W_k = g_k v_k / |v_k|, row by row.
struct WeightNormLinear {
  Tensor weight_v, weight_g, bias;

  WeightNormLinear(int64_t in, int64_t out, WeightNormInit kind, Random init);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

// Drops single values, or whole channels of a picture; does nothing in evaluation.
Tensor dropout(const Tensor& x, double drop, Noise* noise);
Tensor dropout_channels(const Tensor& x, double drop, Noise* noise);

}  // namespace tributary

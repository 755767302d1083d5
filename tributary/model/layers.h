// The layers our networks are made of: plain structs of tensors with the arithmetic of their PyTorch namesakes.
//
// They carry no training flag: a forward pass with a `DropoutStream` uses batch statistics and dropout, one without
// uses the running statistics and none (spec 10). `list` gives every tensor its name in model files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"
#include "tributary/device/dropout_stream.h"

namespace tributary {

class Communicator;

struct NamedTensor {
  std::string name;
  Tensor value;
  // Where several processes work together (shared_pass.h): those whose gradients of this parameter add up to the whole
  // one, null where each has all of it; and the rank whose values count, -1 where they are equal everywhere.
  Communicator* reduced_over = nullptr;
  int64_t owner = -1;
};
using NamedTensors = std::vector<NamedTensor>;

// Parameters are trained, buffers (running statistics) are not; both are saved.
struct TensorList {
  NamedTensors parameters;
  NamedTensors buffers;
};

// Where first weights come from; nothing leaves them unset, for those who are about to load some.
using Init = std::optional<Random>;
inline Init child(const Init& init, uint64_t index) {
  return init ? Init(init->child(index)) : Init();
}

// How a layer's weights start: uniform in +-1/sqrt(fan_in), bias too, which is the framework's default; normal with
// variance 2 / fan_out and no bias, as torchvision's ImageNet networks; normal with deviation 0.01 (VGG's head); or
// Xavier-normal with no bias (spec 10, 2c).
enum class Start { kDefault, kFanOut, kSmall, kXavier };

struct ConvShape {
  int64_t in, out, kernel;
  int64_t stride = 1, padding = 0, groups = 1;
  bool bias = true;
};

struct Conv2d {
  Tensor weight, bias;  // bias undefined where there is none
  int64_t stride, padding, groups;

  Conv2d(const ConvShape& shape, Start start, const Init& init);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

constexpr double kBatchNormEpsilon = 1e-5;

// BatchNorm over all but the channel dimension; momentum 0.1, unbiased variance in the running statistics. Batches are
// counted by whoever runs the whole network, see `count_batch`.
struct BatchNorm {
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;
  bool frozen = false;           // takes its running statistics in training too
  bool still = false;            // takes the batch's in training and leaves the running ones as they are
  Communicator* comm = nullptr;  // in training takes the statistics of the rows of all of them; null: of its own

  explicit BatchNorm(int64_t channels);
  Tensor operator()(const Tensor& x, const DropoutStream* dropout_stream);
  void list(const std::string& prefix, TensorList& list) const;
};

// Moves the batch counters of all given layers at once: one launch on a GPU instead of one a layer.
void count_batch(const std::vector<BatchNorm*>& layers);

struct Linear {
  Tensor weight, bias;

  Linear(int64_t in, int64_t out, Start start, const Init& init);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

// A linear layer with weight W_k = g_k v_k / |v_k|, row by row. Its direction vectors start uniform, as the research
// scripts effectively do (their Xavier draw is lost in the next forward pass), or with Xavier-normal as they meant to.
struct WeightNormLinear {
  Tensor weight_v, weight_g, bias;

  WeightNormLinear(int64_t in, int64_t out, Start start, const Init& init);
  Tensor weight() const;
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

// Drops single values, or whole channels of a picture; does nothing in evaluation.
Tensor dropout(const Tensor& x, double drop, DropoutStream* dropout_stream);
Tensor dropout_channels(const Tensor& x, double drop, DropoutStream* dropout_stream);

}  // namespace tributary

// Network layers: plain structs of float32 tensors with the arithmetic of their PyTorch namesakes.
//
// Layers have no training flag. A forward pass with a `DropoutStream` is a training pass (batch statistics, dropout); a
// pass without one is an evaluation (running statistics, no dropout). `list` appends a layer's tensors under their
// names in model files.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"
#include "tributary/device/dropout_stream.h"

namespace tributary {

class Communicator;

struct NamedTensor {
  std::string name;
  Tensor value;
  // In distributed runs (sharded_pass.h):
  Communicator* reduced_over = nullptr;  // ranks over which the gradient must be summed; null if each has all of it
  int64_t owner = -1;                    // rank that holds the current values; -1 if they are equal on all ranks
};
using NamedTensors = std::vector<NamedTensor>;

// Parameters are trained, buffers (running statistics) are not; both are saved.
struct TensorList {
  NamedTensors parameters;
  NamedTensors buffers;
};

// Random stream for initial weights; empty leaves the weights uninitialised, for callers that load them next.
using Init = std::optional<Random>;
inline Init child(const Init& init, uint64_t index) {
  return init ? Init(init->child(index)) : Init();
}

// Whose tensor names: those of torchvision, which our model files use as well, or those of timm. Where a family is in
// one library only, both are its names.
enum class Naming { kTorchvision, kTimm };

// Name of a layer's tensor: "norm1" and "weight" to "norm1.weight". A layer's name that ends with '_' is continued:
// "self_attention.in_proj_" and "weight" to "self_attention.in_proj_weight".
std::string tensor_name(const std::string& layer, const std::string& tensor);

// Weight initialisation. Biases start at 0, except with kDefault.
enum class Start {
  kDefault,  // PyTorch's default: weight and bias uniform in +-1/sqrt(fan_in)
  kFanOut,   // normal with variance 2 / fan_out, as in torchvision's ImageNet networks
  kSmall,    // normal with standard deviation 0.01, as in the head of VGG
  kXavier,   // Xavier-normal: variance 2 / (fan_in + fan_out)
  kNarrow,   // normal with standard deviation 0.02, as in transformers and ConvNeXt
};

struct ConvShape {
  int64_t in, out, kernel;
  int64_t stride = 1, padding = 0, groups = 1;
  bool bias = true;
  bool same = false;  // pads as TensorFlow's SAME instead of by `padding`
};

struct Conv2d {
  Tensor weight;  // [out, in / groups, kernel, kernel], channels-last
  Tensor bias;    // [out], or undefined
  int64_t stride, padding, groups;
  bool same;  // pads to an output of ceil(side / stride), the odd pixel at the right and at the bottom

  Conv2d(const ConvShape& shape, Start start, const Init& init);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
  // Pixels to add before and after a dimension of that many.
  std::pair<int64_t, int64_t> pads(int64_t side) const;
};

constexpr double kBatchNormEpsilon = 1e-5;  // the default

// BatchNorm over all but the channel dimension; momentum 0.1, unbiased variance in the running statistics. Does not
// update num_batches_tracked: the caller counts the batches of a whole network with `count_batch`.
struct BatchNorm {
  Tensor weight, bias, running_mean, running_var;  // [channels]
  Tensor num_batches_tracked;                      // int64 []
  bool frozen = false;                             // normalises with the running statistics in training, too
  bool keep_running_stats = false;  // normalises with batch statistics in training but does not update the running ones
  Communicator* comm = nullptr;     // ranks over which training statistics are synchronised; null: this rank only
  double epsilon;

  explicit BatchNorm(int64_t channels, double epsilon = kBatchNormEpsilon);
  Tensor operator()(const Tensor& x, const DropoutStream* dropout_stream);
  void list(const std::string& prefix, TensorList& list) const;
};

// Increments num_batches_tracked of all layers that are not frozen: one kernel launch instead of one per layer.
void count_batch(const std::vector<BatchNorm*>& layers);

struct Linear {
  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined

  Linear(int64_t in, int64_t out, Start start, const Init& init, bool with_bias = true);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

// A linear layer with weight rows W_k = g_k v_k / |v_k|. The research scripts intend to draw v Xavier-normal, but
// overwrite it in the first forward pass, so v is effectively uniform; Start::kDefault follows the effective behaviour.
struct WeightNormLinear {
  Tensor weight_v;  // [out, in]
  Tensor weight_g;  // [out, 1]
  Tensor bias;      // [out]

  WeightNormLinear(int64_t in, int64_t out, Start start, const Init& init);
  Tensor weight() const;
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

// Dropout of single values, and of whole channels; the identity if `dropout_stream` is null.
Tensor dropout(const Tensor& x, double drop, DropoutStream* dropout_stream);
Tensor dropout_channels(const Tensor& x, double drop, DropoutStream* dropout_stream);

}  // namespace tributary

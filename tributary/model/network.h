// A network as data: a list of layers, each with the indices of its inputs.
//
// One description serves the forward pass, the tensor names in model files and the exporters, which translate it layer
// by layer. An exported model therefore cannot differ from the trained one.
#pragma once

#include <variant>

#include "tributary/model/layers.h"
#include "tributary/model/transformer_layers.h"
#include "tributary/model/window_attention.h"

namespace tributary {

struct Relu {};
// Other activations; quick GELU is x * sigmoid(1.702 x).
struct Activation {
  enum class Function { kRelu6, kSilu, kHardswish, kHardsigmoid, kSigmoid, kGelu, kQuickGelu };
  Function function;
};
constexpr double kQuickGeluFactor = 1.702;
struct MaxPool {
  int64_t kernel, stride, padding;
};
struct AveragePool {
  int64_t size;  // height and width of the output map, for any input size
};
struct WindowPool {
  int64_t size;  // mean of windows of size x size, which do not overlap
};
struct Add {};
struct Multiply {};
struct Concat {};         // of channels
struct Flatten {};        // all but the batch dimension
struct ChannelsLast {};   // [n, c, h, w] to [n, h, w, c]
struct ChannelsFirst {};  // and back
struct MapTokens {};      // [n, h, w, c] to [n, h * w, c]
struct PatchMerge {};     // [n, h, w, c] to [n, h / 2, w / 2, 4 c]; odd sizes are padded with zeros
// Tokens to features: the class token, the mean of the patches, or both side by side.
struct TokenPool {
  enum class Of { kClass, kPatches, kBoth };
  Of of;
  int64_t extra;  // tokens before those of the patches
};
struct Dropout {
  double drop;
  bool channels;  // drops whole channels
};

using LayerKind =
    std::variant<Conv2d, BatchNorm, Linear, Relu, MaxPool, AveragePool, Add, Flatten, Dropout, Activation, WindowPool,
                 Multiply, Concat, ChannelsLast, ChannelsFirst, MapTokens, PatchMerge, TokenPool, LayerNorm,
                 ChannelScale, ResponseNorm, TokenEmbedding, Attention, WindowAttention>;

// Value 0 is the network's input, value i + 1 the output of layer i.
struct Layer {
  LayerKind kind;
  std::string name;         // prefix of its tensors' names; empty if it has no tensors
  std::vector<int> inputs;  // indices of values: two for Add and Multiply, any number for Concat, one for all others
  std::string timm;         // the name in timm; empty if it is the same
};

struct LayerName {
  LayerName(std::string both) : torchvision(std::move(both)) {}  // NOLINT: most names are the same in timm
  LayerName(const char* both) : torchvision(both) {}             // NOLINT
  LayerName(std::string in_torchvision, std::string in_timm)
      : torchvision(std::move(in_torchvision)), timm(std::move(in_timm)) {}
  std::string torchvision, timm;
};

// The layers [begin, end) of a network.
struct LayerRange {
  int begin = 0, end = 0;
  bool operator==(const LayerRange&) const = default;
};

class Network {
 public:
  // Appends a layer and returns the index of its output. Relu works in place, so no other layer may use its input.
  int add(LayerKind kind, std::vector<int> inputs, LayerName name = "");
  // Appends a layer that takes the last value.
  int then(LayerKind kind, LayerName name = "") { return add(std::move(kind), {last()}, std::move(name)); }
  int last() const { return static_cast<int>(layers_.size()); }

  // Returns the last value for the input `x`. A training pass if `dropout_stream` is given, else an evaluation.
  Tensor forward(const Tensor& x, DropoutStream* dropout_stream);
  // The same for some layers: `x` is the last value before them, and they read no earlier one.
  Tensor forward(const Tensor& x, DropoutStream* dropout_stream, LayerRange layers);
  // The output of one layer, whose inputs are in `values`.
  Tensor apply(int layer, std::vector<Tensor>& values, DropoutStream* dropout_stream);
  // The order does not depend on the naming.
  TensorList tensors(Naming naming = Naming::kTorchvision) const;
  // Buffers of torchvision's state dictionaries that are not tensors of the network, because they follow from its
  // shape.
  NamedTensors constants(Naming naming = Naming::kTorchvision) const;
  // Shapes of all values for pictures of `size` x `size`, without the batch dimension.
  std::vector<std::vector<int64_t>> shapes(int64_t size) const;
  std::vector<BatchNorm*> batch_norms();
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  // `watch` is called with every layer's output.
  template <typename Watch>
  Tensor run(const Tensor& x, DropoutStream* dropout_stream, LayerRange layers, Watch watch);

  std::vector<Layer> layers_;
  std::vector<int> last_use_;  // per value, the last layer that reads it; forward() frees the value afterwards
};

}  // namespace tributary

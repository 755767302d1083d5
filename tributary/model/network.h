// A network as data: a list of layers, each with the indices of its inputs.
//
// One description serves the forward pass, the tensor names in model files and the exporters, which translate it layer
// by layer. An exported model therefore cannot differ from the trained one.
#pragma once

#include <variant>

#include "tributary/model/layers.h"

namespace tributary {

struct Relu {};
struct MaxPool {
  int64_t kernel, stride, padding;
};
struct AveragePool {
  int64_t size;  // height and width of the output map, for any input size
};
struct Add {};
struct Flatten {};
struct Dropout {
  double drop;
  bool channels;  // drops whole channels
};

using LayerKind = std::variant<Conv2d, BatchNorm, Linear, Relu, MaxPool, AveragePool, Add, Flatten, Dropout>;

// Value 0 is the network's input, value i + 1 the output of layer i.
struct Layer {
  LayerKind kind;
  std::string name;         // prefix of its tensors' names; empty if it has no tensors
  std::vector<int> inputs;  // indices of values: two for Add, one for all others
};

class Network {
 public:
  // Appends a layer and returns the index of its output. Relu works in place, so no other layer may use its input.
  int add(LayerKind kind, std::vector<int> inputs, std::string name = "");
  // Appends a layer that takes the last value.
  int then(LayerKind kind, std::string name = "") { return add(std::move(kind), {last()}, std::move(name)); }
  int last() const { return static_cast<int>(layers_.size()); }

  // Returns the last value for the input `x`. A training pass if `dropout_stream` is given, else an evaluation.
  Tensor forward(const Tensor& x, DropoutStream* dropout_stream);
  TensorList tensors() const;
  std::vector<BatchNorm*> batch_norms();
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  std::vector<Layer> layers_;
  std::vector<int> last_use_;  // per value, the last layer that reads it; forward() frees the value afterwards
};

}  // namespace tributary

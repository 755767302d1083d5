// A network as data: layers in order, each naming the values it takes.
//
// One description serves everybody. The forward pass walks it, model files take their tensors' names from it, and the
// exporters translate it layer by layer, so that what is deployed cannot drift from what was trained.
#pragma once

#include <variant>

#include "tributary/model/layers.h"

namespace tributary {

struct Relu {};
struct MaxPool {
  int64_t kernel, stride, padding;
};
struct AveragePool {
  int64_t size;  // of the map that comes out, whatever goes in
};
struct Add {};
struct Flatten {};
struct Dropout {
  double drop;
  bool channels;  // whole channels of a picture
};

using LayerKind = std::variant<Conv2d, BatchNorm, Linear, Relu, MaxPool, AveragePool, Add, Flatten, Dropout>;

// Value 0 is the network's input, value i + 1 comes out of layer i.
struct Layer {
  LayerKind kind;
  std::string name;         // its tensors' prefix; empty where it has none
  std::vector<int> inputs;  // one value, two for Add
};

class Network {
 public:
  // Appends a layer and returns the value that comes out. Nobody else may use a value that goes into a Relu: it works
  // in place.
  int add(LayerKind kind, std::vector<int> inputs, std::string name = "");
  // The same on the last value.
  int then(LayerKind kind, std::string name = "") { return add(std::move(kind), {last()}, std::move(name)); }
  int last() const { return static_cast<int>(layers_.size()); }

  // The last value for the input `x`; a training pass if `dropout_stream` is given.
  Tensor forward(const Tensor& x, DropoutStream* dropout_stream);
  TensorList tensors() const;
  std::vector<BatchNorm*> batch_norms();
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  std::vector<Layer> layers_;
  std::vector<int> last_use_;  // of each value, the layer after which nobody needs it
};

}  // namespace tributary

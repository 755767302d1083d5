#include "tributary/model/network.h"

#include "tributary/base/error.h"

namespace tributary {
namespace {

// Visitor that applies a layer to its inputs.
struct Apply {
  std::vector<Tensor>& values;
  const std::vector<int>& inputs;
  DropoutStream* dropout_stream;

  Tensor& x() const { return values[inputs.front()]; }
  Tensor operator()(Conv2d& layer) const { return layer(x()); }
  Tensor operator()(BatchNorm& layer) const { return layer(x(), dropout_stream); }
  Tensor operator()(Linear& layer) const { return layer(x()); }
  Tensor operator()(Relu&) const { return x().relu_(); }
  Tensor operator()(MaxPool& pool) const {
    return at::max_pool2d(x(), {pool.kernel, pool.kernel}, {pool.stride, pool.stride}, {pool.padding, pool.padding});
  }
  Tensor operator()(AveragePool& pool) const { return at::adaptive_avg_pool2d(x(), {pool.size, pool.size}); }
  Tensor operator()(Add&) const { return values[inputs[0]] + values[inputs[1]]; }
  Tensor operator()(Flatten&) const { return x().contiguous().flatten(1); }
  Tensor operator()(Dropout& layer) const {
    return layer.channels ? dropout_channels(x(), layer.drop, dropout_stream)
                          : dropout(x(), layer.drop, dropout_stream);
  }
};

}  // namespace

int Network::add(LayerKind kind, std::vector<int> inputs, std::string name) {
  const int number = last();
  last_use_.resize(layers_.size() + 1, -1);
  for (const int input : inputs) {
    TRIBUTARY_CHECK(input >= 0 && input <= number, "layer {} reads value {}, which does not exist yet", number, input);
    last_use_[input] = number;
  }
  layers_.push_back({std::move(kind), std::move(name), std::move(inputs)});
  return last();
}

Tensor Network::forward(const Tensor& x, DropoutStream* dropout_stream) {
  std::vector<Tensor> values(layers_.size() + 1);
  values[0] = x;
  for (size_t i = 0; i < layers_.size(); ++i) {
    values[i + 1] = std::visit(Apply{values, layers_[i].inputs, dropout_stream}, layers_[i].kind);
    for (const int input : layers_[i].inputs)
      if (last_use_[input] == static_cast<int>(i)) values[input] = Tensor();
  }
  return values.back();
}

std::vector<BatchNorm*> Network::batch_norms() {
  std::vector<BatchNorm*> found;
  for (Layer& layer : layers_)
    if (auto* norm = std::get_if<BatchNorm>(&layer.kind)) found.push_back(norm);
  return found;
}

TensorList Network::tensors() const {
  TensorList all;
  for (const Layer& layer : layers_) {
    std::visit(
        [&](const auto& kind) {
          if constexpr (requires { kind.list(layer.name, all); }) kind.list(layer.name, all);
        },
        layer.kind);
  }
  return all;
}

}  // namespace tributary

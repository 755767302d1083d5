#include "tributary/model/network.h"

#include "tributary/base/error.h"

namespace tributary {
namespace {

Tensor activate(const Tensor& x, Activation::Function function) {
  using Function = Activation::Function;
  switch (function) {
    case Function::kRelu6:
      return at::hardtanh(x, 0, 6);
    case Function::kSilu:
      return at::silu(x);
    case Function::kHardswish:
      return at::hardswish(x);
    case Function::kHardsigmoid:
      return at::hardsigmoid(x);
    case Function::kSigmoid:
      return x.sigmoid();
    case Function::kGelu:
      return at::gelu(x);
    case Function::kQuickGelu:
      return x * (x * kQuickGeluFactor).sigmoid();
  }
  return {};
}

Tensor merge_patches(const Tensor& x) {
  const Tensor even = at::constant_pad_nd(x, {0, 0, 0, x.size(2) % 2, 0, x.size(1) % 2});
  const auto part = [&](int64_t row, int64_t column) {
    return even.slice(1, row, c10::nullopt, 2).slice(2, column, c10::nullopt, 2);
  };
  return at::cat({part(0, 0), part(1, 0), part(0, 1), part(1, 1)}, -1);
}

Tensor pool_tokens(const Tensor& x, const TokenPool& pool) {
  const auto patches = [&] { return x.narrow(1, pool.extra, x.size(1) - pool.extra).mean(1); };
  switch (pool.of) {
    case TokenPool::Of::kClass:
      return x.select(1, 0);
    case TokenPool::Of::kPatches:
      return patches();
    case TokenPool::Of::kBoth:
      return at::cat({x.select(1, 0), patches()}, 1);
  }
  return {};
}

const std::string& name_in(const Layer& layer, Naming naming) {
  return naming == Naming::kTimm && !layer.timm.empty() ? layer.timm : layer.name;
}

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
  Tensor operator()(Activation& layer) const { return activate(x(), layer.function); }
  Tensor operator()(WindowPool& pool) const { return at::avg_pool2d(x(), {pool.size, pool.size}); }
  Tensor operator()(Multiply&) const { return values[inputs[0]] * values[inputs[1]]; }
  Tensor operator()(Concat&) const {
    std::vector<Tensor> parts;
    for (const int input : inputs) parts.push_back(values[input]);
    return at::cat(parts, 1);
  }
  Tensor operator()(ChannelsLast&) const { return x().permute({0, 2, 3, 1}); }
  Tensor operator()(ChannelsFirst&) const { return x().permute({0, 3, 1, 2}); }
  Tensor operator()(MapTokens&) const { return x().flatten(1, 2); }
  Tensor operator()(PatchMerge&) const { return merge_patches(x()); }
  Tensor operator()(TokenPool& pool) const { return pool_tokens(x(), pool); }
  Tensor operator()(LayerNorm& layer) const { return layer(x()); }
  Tensor operator()(ChannelScale& layer) const { return layer(x()); }
  Tensor operator()(ResponseNorm& layer) const { return layer(x()); }
  Tensor operator()(TokenEmbedding& layer) const { return layer(x()); }
  Tensor operator()(Attention& layer) const { return layer(x()); }
  Tensor operator()(WindowAttention& layer) const { return layer(x()); }
  Tensor operator()(Add&) const { return values[inputs[0]] + values[inputs[1]]; }
  Tensor operator()(Flatten&) const { return x().contiguous().flatten(1); }
  Tensor operator()(Dropout& layer) const {
    return layer.channels ? dropout_channels(x(), layer.drop, dropout_stream)
                          : dropout(x(), layer.drop, dropout_stream);
  }
};

}  // namespace

int Network::add(LayerKind kind, std::vector<int> inputs, LayerName name) {
  const int number = last();
  last_use_.resize(layers_.size() + 1, -1);
  for (const int input : inputs) {
    TRIBUTARY_CHECK(input >= 0 && input <= number, "layer {} reads value {}, which does not exist yet", number, input);
    last_use_[input] = number;
  }
  layers_.push_back({std::move(kind), std::move(name.torchvision), std::move(inputs), std::move(name.timm)});
  return last();
}

Tensor Network::apply(int layer, std::vector<Tensor>& values, DropoutStream* dropout_stream) {
  Layer& applied = layers_[static_cast<size_t>(layer)];
  return std::visit(Apply{values, applied.inputs, dropout_stream}, applied.kind);
}

template <typename Watch>
Tensor Network::run(const Tensor& x, DropoutStream* dropout_stream, LayerRange layers, Watch watch) {
  std::vector<Tensor> values(layers_.size() + 1);
  values[layers.begin] = x;
  for (int i = layers.begin; i < layers.end; ++i) {
    values[i + 1] = apply(i, values, dropout_stream);
    watch(values[i + 1]);
    for (const int input : layers_[i].inputs)
      if (last_use_[input] == i) values[input] = Tensor();
  }
  return values[layers.end];
}

Tensor Network::forward(const Tensor& x, DropoutStream* dropout_stream) {
  return forward(x, dropout_stream, {0, last()});
}

Tensor Network::forward(const Tensor& x, DropoutStream* dropout_stream, LayerRange layers) {
  return run(x, dropout_stream, layers, [](const Tensor&) {});
}

std::vector<std::vector<int64_t>> Network::shapes(int64_t size) const {
  torch::NoGradGuard no_grad;
  std::vector<std::vector<int64_t>> all = {{3, size, size}};
  Network same = *this;  // with the same tensors
  const TensorList list = tensors();
  const auto options = list.parameters.empty() ? at::TensorOptions() : list.parameters.front().value.options();
  same.run(torch::zeros({1, 3, size, size}, options.requires_grad(false)), nullptr, {0, last()},
           [&](const Tensor& value) { all.push_back(value.sizes().slice(1).vec()); });
  return all;
}

std::vector<BatchNorm*> Network::batch_norms() {
  std::vector<BatchNorm*> found;
  for (Layer& layer : layers_)
    if (auto* norm = std::get_if<BatchNorm>(&layer.kind)) found.push_back(norm);
  return found;
}

TensorList Network::tensors(Naming naming) const {
  TensorList all;
  for (const Layer& layer : layers_) {
    const std::string& name = name_in(layer, naming);
    std::visit(
        [&](const auto& kind) {
          if constexpr (requires { kind.list(name, all); }) kind.list(name, all);
          if constexpr (requires { kind.list(naming, all); }) kind.list(naming, all);
          if constexpr (requires { kind.list(naming, name, all); }) kind.list(naming, name, all);
        },
        layer.kind);
  }
  return all;
}

NamedTensors Network::constants(Naming naming) const {
  NamedTensors all;
  for (const Layer& layer : layers_)
    if (const auto* attention = std::get_if<WindowAttention>(&layer.kind))
      attention->list_constants(name_in(layer, naming), all);
  return all;
}

}  // namespace tributary

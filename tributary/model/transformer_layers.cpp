#include "tributary/model/transformer_layers.h"

#include "tributary/device/accelerator.h"

namespace tributary {
namespace {

constexpr double kNarrowDeviation = 0.02;

Tensor constant_parameter(torch::IntArrayRef shape, double value) {
  return torch::full(shape, value, torch::kFloat32).requires_grad_();
}

}  // namespace

Tensor normal_parameter(torch::IntArrayRef shape, double deviation, const Init& init) {
  Tensor tensor = torch::empty(shape, torch::kFloat32);
  if (init) {
    Random random = *init;
    float* value = tensor.data_ptr<float>();
    for (int64_t i = 0; i < tensor.numel(); ++i) value[i] = static_cast<float>(deviation * random.normal());
  }
  return tensor.requires_grad_();
}

LayerNorm::LayerNorm(int64_t channels, double epsilon_value)
    : weight(constant_parameter({channels}, 1)), bias(constant_parameter({channels}, 0)), epsilon(epsilon_value) {}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return at::layer_norm(x, weight.sizes(), weight, bias, epsilon);
}

void LayerNorm::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  list.parameters.push_back({prefix + ".bias", bias});
}

ChannelScale::ChannelScale(torch::IntArrayRef shape, double start) : factor(constant_parameter(shape, start)) {}

Tensor ChannelScale::operator()(const Tensor& x) const {
  return x * factor.view({-1});
}

void ChannelScale::list(const std::string& name, TensorList& list) const {
  list.parameters.push_back({name, factor});
}

ResponseNorm::ResponseNorm(int64_t channels)
    : weight(constant_parameter({channels}, 0)), bias(constant_parameter({channels}, 0)) {}

Tensor ResponseNorm::operator()(const Tensor& x) const {
  const Tensor norm = x.norm(2, {1, 2}, /*keepdim=*/true);
  const Tensor relative = norm / (norm.mean(-1, /*keepdim=*/true) + kEpsilon);
  return x + x * relative * weight + bias;
}

void ResponseNorm::list(const std::string& prefix, TensorList& list) const {
  list.parameters.push_back({prefix + ".weight", weight});
  list.parameters.push_back({prefix + ".bias", bias});
}

TokenEmbedding::TokenEmbedding(const TokenShape& shape, const Init& init) {
  if (shape.class_token) class_token = normal_parameter({1, 1, shape.channels}, kNarrowDeviation, child(init, 0));
  position = normal_parameter({1, shape.patches + (shape.class_token ? 1 : 0), shape.channels}, kNarrowDeviation,
                              child(init, 1));
  if (shape.registers > 0)
    registers = normal_parameter({1, shape.registers, shape.channels}, kNarrowDeviation, child(init, 2));
}

Tensor TokenEmbedding::operator()(const Tensor& patches) const {
  const int64_t n = patches.size(0);
  const auto of_each = [&](const Tensor& token) { return token.expand({n, -1, -1}); };
  std::vector<Tensor> parts;
  Tensor of_patches = position;
  if (class_token.defined()) {
    parts.push_back(of_each(class_token + position.narrow(1, 0, 1)));
    of_patches = position.narrow(1, 1, position.size(1) - 1);
  }
  if (registers.defined()) parts.push_back(of_each(registers));
  const Tensor placed = patches + of_patches;
  if (parts.empty()) return placed;
  parts.push_back(placed);
  return at::cat(parts, 1);
}

void TokenEmbedding::list(Naming naming, TensorList& list) const {
  const bool timm = naming == Naming::kTimm;
  if (class_token.defined()) list.parameters.push_back({timm ? "cls_token" : "class_token", class_token});
  list.parameters.push_back({timm ? "pos_embed" : "encoder.pos_embedding", position});
  if (registers.defined()) list.parameters.push_back({"reg_token", registers});
}

Attention::Attention(int64_t channels, int64_t heads_count, const Init& init)
    : qkv(channels, 3 * channels, Start::kNarrow, child(init, 0)),
      projection(channels, channels, Start::kNarrow, child(init, 1)),
      heads(heads_count) {}

Tensor Attention::operator()(const Tensor& x) const {
  const int64_t n = x.size(0), tokens = x.size(1), channels = x.size(2);
  const std::vector<Tensor> parts =
      qkv(x).view({n, tokens, 3, heads, channels / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
  return projection(attend(parts[0], parts[1], parts[2]).transpose(1, 2).reshape({n, tokens, channels}));
}

void Attention::list(Naming naming, const std::string& prefix, TensorList& list) const {
  const bool timm = naming == Naming::kTimm;
  qkv.list(prefix + (timm ? ".qkv" : ".in_proj_"), list);
  projection.list(prefix + (timm ? ".proj" : ".out_proj"), list);
}

}  // namespace tributary

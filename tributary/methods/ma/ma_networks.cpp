#include "tributary/methods/ma/ma_networks.h"

namespace tributary {
namespace {

Tensor normals(torch::IntArrayRef shape, const Random& init) {
  return DropoutStream(init, torch::kCPU).normal(shape);
}

void move(NamedTensors tensors, torch::Device device) {
  for (NamedTensor& tensor : tensors) tensor.value.set_data(tensor.value.detach().to(device));
}

Tensor unit_norm(const Tensor& x) {
  return x / x.norm().clamp_min(1e-12);
}

}  // namespace

ClassGenerator::ClassGenerator(int64_t classes, int64_t z_width, const Random& init)
    : z_width_(z_width), embedding_(normals({classes, z_width}, init).requires_grad_()) {}

ClassGenerator ClassGenerator::of_pictures(int64_t classes, const Random& init, torch::Device device) {
  ClassGenerator made(classes, 128, init.child(0));
  made.linear_.emplace_back(256, 256 * 4 * 4, Start::kDefault, init.child(1));
  constexpr int64_t kChannels[] = {256, 256, 128, 64};
  for (int i = 0; i < 3; ++i)
    made.blocks_.push_back({Conv2d({kChannels[i], kChannels[i + 1], 3, 1, 1}, Start::kDefault, init.child(2 + i)),
                            torch::ones({kChannels[i + 1]}).requires_grad_(),
                            torch::zeros({kChannels[i + 1]}).requires_grad_()});
  made.last_ = Conv2d({64, 3, 3, 1, 1}, Start::kDefault, init.child(5));
  made.to(device);
  return made;
}

ClassGenerator ClassGenerator::of_features(int64_t classes, int64_t width, const Random& init, torch::Device device) {
  ClassGenerator made(classes, 256, init.child(0));
  made.linear_.emplace_back(512, 1024, Start::kDefault, init.child(1));
  made.linear_.emplace_back(1024, 1024, Start::kDefault, init.child(2));
  made.linear_.emplace_back(1024, width, Start::kDefault, init.child(3));
  made.to(device);
  return made;
}

void ClassGenerator::to(torch::Device device) {
  move(parameters(), device);
}

Tensor ClassGenerator::operator()(const Tensor& one_hot, const Tensor& z) const {
  Tensor x = at::cat({z, at::mm(one_hot, embedding_).to(z.scalar_type())}, 1);
  if (!last_) {
    for (const Linear& layer : linear_) x = layer(x).relu();
    return x;
  }
  x = linear_.front()(x).view({-1, 256, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  for (const Block& block : blocks_) {
    x = block.conv(at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)}));
    x = at::batch_norm(x, block.weight, block.bias, {}, {}, /*training=*/true, 0.1, kBatchNormEpsilon, true).relu();
  }
  return (*last_)(x).tanh();
}

NamedTensors ClassGenerator::parameters() const {
  TensorList list;
  list.parameters.push_back({"embedding", embedding_});
  for (size_t i = 0; i < linear_.size(); ++i) linear_[i].list("linear." + std::to_string(i), list);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const std::string name = "block." + std::to_string(i);
    blocks_[i].conv.list(name + ".conv", list);
    list.parameters.push_back({name + ".bn.weight", blocks_[i].weight});
    list.parameters.push_back({name + ".bn.bias", blocks_[i].bias});
  }
  if (last_) last_->list("last", list);
  return list.parameters;
}

void SpectralDiscriminator::add(const Tensor& weight, const Tensor& bias, const Random& init) {
  const Tensor matrix = weight.detach().flatten(1);
  layers_.push_back({weight, bias, unit_norm(normals({matrix.size(0)}, init)), torch::zeros({matrix.size(1)})});
}

void SpectralDiscriminator::finish(torch::Device device) {
  constexpr int kFirstIterations = 15;  // a good estimate of the singular values from the first step on, as in PyTorch
  for (int i = 0; i < kFirstIterations; ++i) iterate();
  const TensorList all = tensors();
  move(all.parameters, device);
  move(all.buffers, device);
}

SpectralDiscriminator SpectralDiscriminator::of_pictures(const Random& init, torch::Device device) {
  SpectralDiscriminator made(0.1);
  constexpr int64_t kChannels[] = {3, 64, 128, 256};
  for (uint64_t i = 0; i < 3; ++i) {
    const Conv2d conv({kChannels[i], kChannels[i + 1], 4, 2, 1}, Start::kDefault, init.child(2 * i));
    made.add(conv.weight, conv.bias, init.child(2 * i + 1));
  }
  const Linear linear(kChannels[3] * 4 * 4, 1, Start::kDefault, init.child(6));
  made.add(linear.weight, linear.bias, init.child(7));
  made.finish(device);
  return made;
}

SpectralDiscriminator SpectralDiscriminator::of_features(int64_t width, const Random& init, torch::Device device) {
  SpectralDiscriminator made(0.2);
  const Linear first(width, 512, Start::kDefault, init.child(0)), second(512, 1, Start::kDefault, init.child(2));
  made.add(first.weight, first.bias, init.child(1));
  made.add(second.weight, second.bias, init.child(3));
  made.finish(device);
  return made;
}

void SpectralDiscriminator::iterate() {
  torch::NoGradGuard no_grad;
  for (Layer& layer : layers_) {
    const Tensor matrix = layer.weight.flatten(1);
    layer.v.copy_(unit_norm(at::mv(matrix.t(), layer.u)));
    layer.u.copy_(unit_norm(at::mv(matrix, layer.v)));
  }
}

std::vector<Tensor> SpectralDiscriminator::weights() const {
  std::vector<Tensor> normalised;
  for (const Layer& layer : layers_) {
    // Clone them, because the next iteration changes u and v in place and the backward pass may run later.
    const Tensor u = layer.u.clone(), v = layer.v.clone();
    normalised.push_back(layer.weight / at::dot(u, at::mv(layer.weight.flatten(1), v)));
  }
  return normalised;
}

Tensor SpectralDiscriminator::logit(Tensor x, const std::vector<Tensor>& weights) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) x = at::leaky_relu(x, slope_);
    x = weights[i].dim() == 4 ? at::conv2d(x, weights[i], layers_[i].bias, /*stride=*/2, /*padding=*/1)
                              : at::linear(x.flatten(1), weights[i], layers_[i].bias);
  }
  return x;
}

TensorList SpectralDiscriminator::tensors() const {
  TensorList list;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string name = std::to_string(i);
    list.parameters.push_back({name + ".weight", layers_[i].weight});
    list.parameters.push_back({name + ".bias", layers_[i].bias});
    list.buffers.push_back({name + ".u", layers_[i].u});
    list.buffers.push_back({name + ".v", layers_[i].v});
  }
  return list;
}

}  // namespace tributary

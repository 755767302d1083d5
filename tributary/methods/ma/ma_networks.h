// The generator and the discriminator of MA (docs/baselines.md, MA), for pictures of 32 x 32 and for features.
//
// Both are discarded after the adaptation, so their tensors have names for checkpoints but are not part of model files.
#pragma once

#include <optional>
#include <vector>

#include "tributary/model/layers.h"

namespace tributary {

// G(y, z): a sample of class y in the style of the target. Always uses batch statistics and keeps no running ones.
class ClassGenerator {
 public:
  // Generates pictures, [n, 3, 32, 32] in -1..1, with z of width 128.
  static ClassGenerator of_pictures(int64_t classes, const Random& init, torch::Device device);
  // Generates features, [n, width], non-negative, with z of width 256.
  static ClassGenerator of_features(int64_t classes, int64_t width, const Random& init, torch::Device device);

  // From one-hot rows [n, classes] and normal numbers [n, z_width()].
  Tensor operator()(const Tensor& one_hot, const Tensor& z) const;
  int64_t z_width() const { return z_width_; }
  NamedTensors parameters() const;

 private:
  struct Block {  // upsampling, convolution, BatchNorm, ReLU
    Conv2d conv;
    Tensor weight, bias;
  };
  ClassGenerator(int64_t classes, int64_t z_width, const Random& init);
  void to(torch::Device device);

  int64_t z_width_;
  Tensor embedding_;  // [classes, z_width]
  std::vector<Linear> linear_;
  std::vector<Block> blocks_;  // empty if it generates features
  std::optional<Conv2d> last_;
};

// D(x): one logit, large for samples that look real. Spectral normalisation (Miyato et al., 2018): the weight of every
// layer is divided by its largest singular value, tracked with one power iteration per step.
class SpectralDiscriminator {
 public:
  static SpectralDiscriminator of_pictures(const Random& init, torch::Device device);
  static SpectralDiscriminator of_features(int64_t width, const Random& init, torch::Device device);

  // Runs one power iteration per layer, which updates u and v in place.
  void iterate();
  // W / (u' W v) of every layer, with a gradient in W. Must not run under mixed precision.
  std::vector<Tensor> weights() const;
  // [n, 1] from pictures or features, with these weights.
  Tensor logit(Tensor x, const std::vector<Tensor>& weights) const;

  // Weights and biases of the layers; u and v are buffers.
  TensorList tensors() const;

 private:
  struct Layer {
    Tensor weight, bias;
    Tensor u, v;  // of the weight as a matrix [out, everything else]
  };
  explicit SpectralDiscriminator(double slope) : slope_(slope) {}
  void add(const Tensor& weight, const Tensor& bias, const Random& init);
  void finish(torch::Device device);

  double slope_;  // of the leaky ReLU
  std::vector<Layer> layers_;
};

}  // namespace tributary

// The generator and the discriminator of MA (docs/method.md, MA), for pictures of 32 x 32 and for features.
//
// Both are thrown away after the adaptation, so they have names for their tensors but no place in model files.
#pragma once

#include <optional>
#include <vector>

#include "tributary/model/layers.h"

namespace tributary {

// G(y, z): a sample in the style of the target, of class y. Takes batch statistics always and keeps none.
class ClassGenerator {
 public:
  // Pictures, [n, 3, 32, 32] in -1..1, z of 128.
  static ClassGenerator of_pictures(int64_t classes, const Random& init, torch::Device device);
  // Features, [n, width] and not negative, z of 256.
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
  std::vector<Block> blocks_;  // none where features come out
  std::optional<Conv2d> last_;
};

// D(x): one logit, large for what looks real. Every layer's weight is divided by its largest singular value, which one
// power iteration a step keeps track of (Miyato et al., 2018).
class SpectralDiscriminator {
 public:
  static SpectralDiscriminator of_pictures(const Random& init, torch::Device device);
  static SpectralDiscriminator of_features(int64_t width, const Random& init, torch::Device device);

  // One power iteration a layer: u and v move, in place.
  void iterate();
  // W / (u' W v) of every layer with a gradient in W. To be called outside of mixed precision.
  std::vector<Tensor> weights() const;
  // [n, 1] from pictures or features, with these weights.
  Tensor logit(Tensor x, const std::vector<Tensor>& weights) const;

  // W and bias of the layers; u and v are the buffers.
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

// Layers of transformers and ConvNeXt: normalisation over channels, tokens and attention.
//
// Maps are [n, height, width, channels] between ChannelsLast and ChannelsFirst (network.h), tokens [n, count,
// channels]. Layers without a training mode: they compute the same in training and in evaluation.
#pragma once

#include "tributary/model/layers.h"

namespace tributary {

// A trained tensor with normally distributed initial values; uninitialised if `init` is empty.
Tensor normal_parameter(torch::IntArrayRef shape, double deviation, const Init& init);

// Normalises over the last dimension.
struct LayerNorm {
  Tensor weight, bias;  // [channels]
  double epsilon;

  LayerNorm(int64_t channels, double epsilon);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

// LayerScale: multiplies each channel, the last dimension, by a trained factor.
struct ChannelScale {
  Tensor factor;  // `shape` of the constructor, with one number per channel

  ChannelScale(torch::IntArrayRef shape, double start);
  Tensor operator()(const Tensor& x) const;
  // The layer's name is that of its tensor.
  void list(const std::string& name, TensorList& list) const;
};

// Global response normalisation of ConvNeXt v2: each channel of a map relative to the mean norm of all channels.
struct ResponseNorm {
  static constexpr double kEpsilon = 1e-6;
  Tensor weight, bias;  // [channels]

  explicit ResponseNorm(int64_t channels);
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
};

struct TokenShape {
  int64_t patches, channels;
  bool class_token = true;
  int64_t registers = 0;

  int64_t extra() const { return (class_token ? 1 : 0) + registers; }  // tokens before those of the patches
};

// Adds positions to the patches' tokens, and the class token and registers in front of them.
struct TokenEmbedding {
  Tensor class_token;  // [1, 1, channels], or undefined
  Tensor position;     // [1, patches + 1, channels]; without a class token [1, patches, channels]
  Tensor registers;    // [1, registers, channels], or undefined; they have no position

  TokenEmbedding(const TokenShape& shape, const Init& init);
  Tensor operator()(const Tensor& patches) const;
  // The names are fixed; the layer has none.
  void list(Naming naming, TensorList& list) const;
};

// Multi-head self-attention over tokens.
struct Attention {
  Linear qkv, projection;
  int64_t heads;

  Attention(int64_t channels, int64_t heads, const Init& init);
  Tensor operator()(const Tensor& x) const;
  // `prefix` is the layer's name in that naming.
  void list(Naming naming, const std::string& prefix, TensorList& list) const;
};

}  // namespace tributary

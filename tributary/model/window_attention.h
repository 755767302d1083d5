// Attention within windows of a map, of Swin and Swin v2.
//
// Every second block shifts the windows by half a window: the map is rolled, and parts of a window that were not
// neighbours do not attend to each other. Maps that are no multiple of the window are padded with zeros, as torchvision
// does it.
#pragma once

#include "tributary/model/layers.h"

namespace tributary {

struct WindowShape {
  int64_t channels, heads, window;
  bool shifted;
  bool cosine;  // Swin v2: cosine attention, and positions by a small network instead of a table
};

struct WindowAttention {
  WindowShape shape;
  Linear qkv, projection;
  Tensor table;                                // Swin: [(2 window - 1)^2, heads]
  Tensor scale;                                // Swin v2: logarithm, [heads, 1, 1]
  Tensor hidden_weight, hidden_bias, spatial;  // Swin v2: network of relative positions, [512, 2], [512], [heads, 512]

  WindowAttention(const WindowShape& shape, const Init& init);
  // A map [n, height, width, channels] to one of the same shape.
  Tensor operator()(const Tensor& x) const;
  void list(const std::string& prefix, TensorList& list) const;
  // Buffers that torchvision's state dictionaries hold besides; they follow from the shape.
  void list_constants(const std::string& prefix, NamedTensors& constants) const;

  // How a map of that size is divided.
  struct Layout {
    int64_t height, width;              // of the padded map, in pixels
    int64_t shift_height, shift_width;  // pixels by which the map is rolled
    int64_t rows, columns;              // windows
  };
  Layout layout(int64_t height, int64_t width) const;
  // What is added to the attention logits: [1 or windows, heads, tokens, tokens]. Includes the mask of shifted windows.
  Tensor bias(const Layout& layout) const;
  // Factor of the attention logits without `bias`: [heads, 1, 1] in Swin v2, [] in Swin.
  Tensor logit_scale() const;
  // Of the projection to queries, keys and values. Keys have none in Swin v2, although its tensor has a place for it.
  Tensor qkv_bias() const;

 private:
  // Tensors that do not change, per device and map.
  struct Constants {
    torch::Device device;
    int64_t height, width;
    Tensor index;   // int64 [tokens^2], into the table of relative positions
    Tensor coords;  // [(2 window - 1)^2, 2], input of the network of relative positions
    Tensor mask;    // [windows, 1, tokens, tokens], or undefined
  };
  const Constants& constants(const Layout& layout) const;
  mutable std::vector<Constants> constants_;
};

}  // namespace tributary

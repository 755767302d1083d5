// Backbones F: pictures in, flat features out.
//
// The digit nets of spec 10: `lenet`, the small net of the demo, and `dtn`, the "variant of LeNet" of the paper's
// Digit-Five experiments; and torchvision's ImageNet networks with its names and its arithmetic, so that its weights
// fit. A new backbone is a function that builds a `Network` and a line in the table of backbone.cpp.
#pragma once

#include <string>
#include <vector>

#include "tributary/io/model_info.h"
#include "tributary/model/network.h"

namespace tributary {

struct Backbone {
  Network network;
  int64_t width = 0;  // of the features
};

// What is fixed about an architecture, before any weights.
struct Architecture {
  std::string name;
  Preprocessing preprocessing;
  Normalisation normalisation;
  double bottleneck_dropout;  // after the bottleneck's BatchNorm (spec 10, 2a: digits only)
  double backbone_rate;       // learning rate of F in source training and adaptation (spec 10, section 4)
  bool photographs;           // whether mirror images and grey ones are of the same class
};

// Throws an InputError that lists the known names if there is no such architecture.
const Architecture& architecture(const std::string& name);
std::vector<std::string> architecture_names();
// The name of sources whose network came as TorchScript; they have an `architecture` but no backbone of ours.
inline const std::string kTorchScript = "torchscript";

// Throws an InputError unless the network can take pictures of that size.
void require_preprocessing(const Architecture& network, const Preprocessing& preprocessing);

// The description of a fresh model with a bottleneck, its pictures prepared as the architecture is used to.
ModelInfo fresh_info(std::string name, const std::string& architecture, std::vector<std::string> classes);

// `first_stride` matters to residual networks with bottleneck blocks alone.
Backbone make_backbone(const std::string& architecture, FirstStride first_stride, const Init& init);

// One family a file. They differ in depth and width.
Backbone make_lenet(const Init& init);
Backbone make_dtn(const Init& init);

struct ResNetPlan {
  bool bottleneck_blocks;      // 1x1, 3x3, 1x1 instead of 3x3, 3x3
  std::vector<int64_t> depth;  // blocks in each of the four stages
  int64_t groups = 1, width_per_group = 64;
};
Backbone make_resnet(const ResNetPlan& plan, FirstStride first_stride, const Init& init);

struct VggPlan {
  std::vector<int64_t> depth;  // convolutions in each of the five stages
  bool batch_norm;
};
Backbone make_vgg(const VggPlan& plan, const Init& init);

}  // namespace tributary

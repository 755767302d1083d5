// Backbones F: normalised pictures [n, 3, s, s] to flat features [n, width].
//
// `lenet` is the small network of the demo, `dtn` the "variant of LeNet" of the paper's Digit-Five experiments. The
// others are torchvision's ImageNet networks, with its tensor names and its arithmetic, so that its weights load. To
// add a backbone, write a function that builds a `Network` and add a line to the table in backbone.cpp.
#pragma once

#include <string>
#include <vector>

#include "tributary/io/model_info.h"
#include "tributary/model/network.h"

namespace tributary {

struct Backbone {
  Network network;
  int64_t width = 0;  // number of features
};

// Properties of an architecture that do not depend on its weights.
struct Architecture {
  std::string name;
  Preprocessing preprocessing;
  Normalisation normalisation;
  double bottleneck_dropout;  // probability, after the bottleneck's BatchNorm; 0 except for digit networks
  double backbone_rate;       // learning rate of F in source training and adaptation
  bool photographs;           // whether horizontal flips and grey-scale conversion preserve the class
};

// Throws an InputError that lists the known names if `name` is none of them.
const Architecture& architecture(const std::string& name);
std::vector<std::string> architecture_names();
// The architecture name of sources imported as TorchScript. architecture() knows it, make_backbone() does not.
inline const std::string kTorchScript = "torchscript";

// Throws an InputError unless the network accepts pictures of that size.
void require_preprocessing(const Architecture& network, const Preprocessing& preprocessing);

// The description of an untrained model with a bottleneck and the architecture's default preprocessing.
ModelInfo fresh_info(const std::string& name, const std::string& architecture, std::vector<std::string> classes);

// `first_stride` affects residual networks with bottleneck blocks only.
Backbone make_backbone(const std::string& architecture, FirstStride first_stride, const Init& init);

// One file per family; members of a family differ in depth and width.
Backbone make_lenet(const Init& init);
Backbone make_dtn(const Init& init);

struct ResNetPlan {
  bool bottleneck_blocks;      // 1x1, 3x3, 1x1 instead of 3x3, 3x3
  std::vector<int64_t> depth;  // blocks per stage, four stages
  int64_t groups = 1, width_per_group = 64;
};
Backbone make_resnet(const ResNetPlan& plan, FirstStride first_stride, const Init& init);

struct VggPlan {
  std::vector<int64_t> depth;  // convolutions per stage, five stages
  bool batch_norm;
};
Backbone make_vgg(const VggPlan& plan, const Init& init);

}  // namespace tributary

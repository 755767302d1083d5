// Backbones F: normalised pictures [n, 3, s, s] to flat features [n, width].
//
// `lenet` is the small network of the demo, `dtn` the "variant of LeNet" of the paper's Digit-Five experiments. The
// others are torchvision's ImageNet networks, with its tensor names and its arithmetic, so that its weights load. To
// add a backbone, write a function that builds a `Network` and add a line to the table in backbone.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tributary/io/model_info.h"
#include "tributary/model/network.h"

namespace tributary {

// Names of the linear layer that follows the features in the classifiers of other libraries.
struct HeadName {
  std::string torchvision = "fc", timm = "fc";
};

struct Backbone {
  Network network;
  int64_t width = 0;  // number of features
  HeadName head = {};
};

// Properties of an architecture that do not depend on its weights.
struct Architecture {
  std::string name;
  Preprocessing preprocessing;
  Normalisation normalisation;
  double bottleneck_dropout;  // probability, after the bottleneck's BatchNorm; 0 except for digit networks
  double backbone_rate;       // learning rate of F in source training and adaptation
  bool photographs;           // whether horizontal flips and grey-scale conversion preserve the class
  bool torchvision = true;    // whether torchvision has it; otherwise its names are timm's
  int multiple = 1;           // of the picture size
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

// `first_stride` affects residual networks with bottleneck blocks only, and `size`, the side of the pictures, only
// networks with a position per patch; 0 is the architecture's default.
Backbone make_backbone(const std::string& architecture, FirstStride first_stride, const Init& init, int64_t size = 0);

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

struct VitPlan {
  int64_t channels, depth, heads, patch;
  bool pre_norm = false;     // as in CLIP: LayerNorm before the first block, no bias in the patches
  bool quick_gelu = false;   // as in OpenAI's CLIP
  bool layer_scale = false;  // as in DINOv2 and DeiT III
  int64_t registers = 0;
  bool class_token = true;
  TokenPool::Of pool = TokenPool::Of::kClass;
  bool norm_after_pool = false;  // of the mean, as in MAE; timm's fc_norm
  bool last_norm = true;         // false: none after the blocks, as in Hugging Face's CLIP with a classifier
  double epsilon = 1e-6;         // of LayerNorm
};
// The plan of a name such as "vit_b_16" or "vit_s_14_ls_reg"; nullopt if it is none.
std::optional<VitPlan> vit_plan(const std::string& name);
// The inverse; empty if the plan has no name.
std::string vit_name(const VitPlan& plan);
Backbone make_vit(const VitPlan& plan, int64_t size, const Init& init);

struct ConvNextPlan {
  std::vector<int64_t> depth, channels;  // per stage
  bool response_norm = false;            // v2: instead of LayerScale
};
Backbone make_convnext(const ConvNextPlan& plan, const Init& init);

struct SwinPlan {
  int64_t channels;             // of the first stage
  std::vector<int64_t> depth;   // blocks per stage
  int64_t heads;                // of the first stage
  std::vector<int64_t> window;  // per stage
  bool v2 = false;
};
Backbone make_swin(const SwinPlan& plan, const Init& init);

// An inverted residual block: 1x1, depthwise, squeeze-and-excitation, 1x1. Fused, the first two are one convolution.
struct MobileBlock {
  int64_t expanded, out, kernel, stride;
  int64_t squeezed;                                // channels between the layers of squeeze-and-excitation; 0: none
  std::optional<Activation::Function> activation;  // nullopt: ReLU
  bool fused = false;
};
struct MobilePlan {
  enum class Family { kMobileNet2, kMobileNet3, kEfficientNet };
  Family family = Family::kEfficientNet;
  std::vector<std::vector<MobileBlock>> stages = {};
  int64_t stem, last, hidden = 0;  // channels of the first and last convolution, and of MobileNet v3's linear layer
  std::optional<Activation::Function> activation;  // of these three
  double epsilon = kBatchNormEpsilon;
  bool same_padding = false;  // TensorFlow's
};
MobilePlan mobilenet_v2_plan();
MobilePlan mobilenet_v3_plan(bool large, double epsilon);
MobilePlan efficientnet_plan(double width, double depth);
MobilePlan efficientnet_v2_s_plan();
Backbone make_mobile(const MobilePlan& plan, const Init& init);

struct DenseNetPlan {
  int64_t growth;
  std::vector<int64_t> depth;  // layers per block
  int64_t stem;                // channels
};
Backbone make_densenet(const DenseNetPlan& plan, const Init& init);

struct RegNetPlan {
  std::vector<int64_t> depth, width;  // per stage
  int64_t group_width;
};
Backbone make_regnet(const RegNetPlan& plan, const Init& init);

}  // namespace tributary

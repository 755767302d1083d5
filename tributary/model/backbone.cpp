#include "tributary/model/backbone.h"

#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <mutex>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

// Networks without BatchNorm diverge at the rate of residual networks.
constexpr double kTransformerRate = 3e-4;

using Make = std::function<Backbone(FirstStride, const Init&, int64_t size)>;

struct Entry {
  Architecture fixed;
  Make make;
};

Entry digits(const std::string& name, Backbone (*make)(const Init&)) {
  return {{name, {32, 32}, {}, 0.5, 1e-2, false},
          [make](FirstStride, const Init& init, int64_t) { return make(init); }};
}

Architecture photographs(const std::string& name) {
  return {name, {224, 256}, kImageNetNormalisation, 0, 1e-3, true};
}

Entry resnet(const std::string& name, ResNetPlan plan) {
  return {photographs(name), [plan](FirstStride first_stride, const Init& init, int64_t) {
            return make_resnet(plan, first_stride, init);
          }};
}

Entry vgg(const std::string& name, VggPlan plan) {
  return {photographs(name), [plan](FirstStride, const Init& init, int64_t) { return make_vgg(plan, init); }};
}

Entry vit(const std::string& name, const VitPlan& plan) {
  Architecture fixed = photographs(name);
  fixed.backbone_rate = kTransformerRate;
  fixed.multiple = static_cast<int>(plan.patch);
  if (plan.pre_norm) {
    fixed.normalisation = kClipNormalisation;
    fixed.preprocessing.bicubic = true;
  }
  fixed.torchvision = !plan.pre_norm && !plan.layer_scale && plan.registers == 0 && plan.pool == TokenPool::Of::kClass;
  return {fixed, [plan](FirstStride, const Init& init, int64_t size) { return make_vit(plan, size, init); }};
}

// An entry of a family that `make` builds from a plan.
template <typename Plan>
Entry planned(Architecture fixed, Backbone (*make)(const Plan&, const Init&), Plan plan) {
  return {std::move(fixed), [make, plan](FirstStride, const Init& init, int64_t) { return make(plan, init); }};
}

Architecture sized(Architecture fixed, int size, int resize) {
  fixed.preprocessing = {size, resize};
  return fixed;
}

// Without BatchNorm.
Architecture transformer(const std::string& name, bool torchvision = true) {
  Architecture fixed = photographs(name);
  fixed.backbone_rate = kTransformerRate;
  fixed.torchvision = torchvision;
  return fixed;
}

void add_convnext(std::vector<Entry>& all) {
  const std::vector<int64_t> shallow = {3, 3, 9, 3}, deep = {3, 3, 27, 3};
  const auto channels = [](int64_t first) { return std::vector<int64_t>{first, 2 * first, 4 * first, 8 * first}; };
  for (const bool v2 : {false, true}) {
    const auto add = [&](const std::string& size, const std::vector<int64_t>& depth, int64_t first) {
      all.push_back(planned<ConvNextPlan>(transformer((v2 ? "convnextv2_" : "convnext_") + size, !v2), make_convnext,
                                          {depth, channels(first), v2}));
    };
    add("tiny", shallow, 96);
    if (!v2) add("small", deep, 96);
    add("base", deep, 128);
    add("large", deep, 192);
  }
}

void add_swin(std::vector<Entry>& all) {
  struct Size {
    const char* name;
    int64_t channels, third, heads;  // blocks of the third stage
  };
  for (const Size& size : {Size{"t", 96, 6, 3}, Size{"s", 96, 18, 3}, Size{"b", 128, 18, 4}})
    for (const bool v2 : {false, true})
      for (const bool wide : {false, true}) {
        if (!v2 && wide && std::string(size.name) != "b") continue;
        const int64_t window = v2 ? (wide ? 16 : 8) : (wide ? 12 : 7);
        const std::string name = fmt::format("swin_{}{}{}", v2 ? "v2_" : "", size.name,
                                             wide ? fmt::format("_window{}", window) : std::string());
        const int side = v2 ? 256 : static_cast<int>(32 * window);
        // As in its authors' weights, a window is no larger than the map for pictures of that side.
        std::vector<int64_t> windows;
        for (int stage = 0; stage < 4; ++stage) windows.push_back(std::min<int64_t>(window, (side / 4) >> stage));
        all.push_back(planned<SwinPlan>(sized(transformer(name, !wide), side, side * 8 / 7), make_swin,
                                        {size.channels, {2, 2, size.third, 2}, size.heads, windows, v2}));
      }
}

void add_mobile(std::vector<Entry>& all) {
  constexpr double kTorchvisionEpsilon = 1e-3, kTensorFlowEpsilon = 1e-3;
  const auto add = [&](const Architecture& fixed, const MobilePlan& plan) {
    all.push_back(planned<MobilePlan>(fixed, make_mobile, plan));
  };
  const auto timm = [](Architecture fixed) {
    fixed.torchvision = false;
    return fixed;
  };
  add(photographs("mobilenet_v2"), mobilenet_v2_plan());
  for (const bool large : {true, false}) {
    const std::string size = large ? "large" : "small";
    add(photographs("mobilenet_v3_" + size), mobilenet_v3_plan(large, kTorchvisionEpsilon));
    add(timm(photographs(fmt::format("mobilenetv3_{}_100", size))), mobilenet_v3_plan(large, kBatchNormEpsilon));
  }
  struct Scale {
    double width, depth;
    int size, resize;
  };
  constexpr std::array<Scale, 5> kScales = {
      {{1, 1, 224, 256}, {1, 1.1, 240, 256}, {1.1, 1.2, 288, 288}, {1.2, 1.4, 300, 320}, {1.4, 1.8, 380, 384}}};
  const auto tensorflow = [&](MobilePlan plan) {
    plan.same_padding = true;
    plan.epsilon = kTensorFlowEpsilon;
    return plan;
  };
  for (size_t i = 0; i < kScales.size(); ++i) {
    const auto [width, depth, size, resize] = kScales[i];
    const std::string name = fmt::format("efficientnet_b{}", i);
    add(sized(photographs(name), size, resize), efficientnet_plan(width, depth));
    add(timm(sized(photographs("tf_" + name), size, resize)), tensorflow(efficientnet_plan(width, depth)));
  }
  add(sized(photographs("efficientnet_v2_s"), 384, 384), efficientnet_v2_s_plan());
  add(timm(sized(photographs("tf_efficientnetv2_s"), 384, 384)), tensorflow(efficientnet_v2_s_plan()));
}

void add_densenet_and_regnet(std::vector<Entry>& all) {
  const auto dense = [&](const std::string& name, const DenseNetPlan& plan) {
    all.push_back(planned<DenseNetPlan>(photographs(name), make_densenet, plan));
  };
  dense("densenet121", {32, {6, 12, 24, 16}, 64});
  dense("densenet161", {48, {6, 12, 36, 24}, 96});
  dense("densenet169", {32, {6, 12, 32, 32}, 64});
  dense("densenet201", {32, {6, 12, 48, 32}, 64});
  const auto regnet = [&](const std::string& name, const RegNetPlan& plan, bool torchvision = true) {
    Architecture fixed = photographs(name);
    fixed.torchvision = torchvision;
    all.push_back(planned<RegNetPlan>(fixed, make_regnet, plan));
  };
  regnet("regnet_y_400mf", {{1, 3, 6, 6}, {48, 104, 208, 440}, 8});
  regnet("regnet_y_800mf", {{1, 3, 8, 2}, {64, 144, 320, 784}, 16});
  regnet("regnet_y_1_6gf", {{2, 6, 17, 2}, {48, 120, 336, 888}, 24});
  regnet("regnet_y_3_2gf", {{2, 5, 13, 1}, {72, 216, 576, 1512}, 24});
  regnet("regnet_y_8gf", {{2, 4, 10, 1}, {224, 448, 896, 2016}, 56});
  regnet("regnet_y_16gf", {{2, 4, 11, 1}, {224, 448, 1232, 3024}, 112});
  regnet("regnet_y_32gf", {{2, 5, 12, 1}, {232, 696, 1392, 3712}, 232});
  // Widths that the authors and timm round to another multiple of the group's.
  regnet("regnety_008", {{1, 3, 8, 2}, {64, 128, 320, 768}, 16}, false);
  regnet("regnety_080", {{2, 4, 10, 1}, {168, 448, 896, 2016}, 56}, false);
}

// Transformers by their common names. Any other combination of vit_plan() is known, too.
std::vector<std::string> common_vits() {
  std::vector<std::string> names;
  for (const char* size : {"ti", "s", "b", "l"})
    for (const char* patch : {"8", "14", "16", "32"}) names.push_back(fmt::format("vit_{}_{}", size, patch));
  for (const char* size : {"s", "b", "l"})
    for (const char* suffix : {"ls", "ls_reg"}) names.push_back(fmt::format("vit_{}_14_{}", size, suffix));
  for (const char* clip : {"vit_b_32_clip", "vit_b_16_clip", "vit_l_14_clip"}) names.emplace_back(clip);
  return names;
}

std::vector<Entry> all_entries() {
  std::vector<Entry> all = {
      digits("lenet", make_lenet),
      digits("dtn", make_dtn),
      resnet("resnet18", {false, {2, 2, 2, 2}}),
      resnet("resnet34", {false, {3, 4, 6, 3}}),
      resnet("resnet50", {true, {3, 4, 6, 3}}),
      resnet("resnet101", {true, {3, 4, 23, 3}}),
      resnet("resnet152", {true, {3, 8, 36, 3}}),
      resnet("resnext50_32x4d", {true, {3, 4, 6, 3}, 32, 4}),
      resnet("resnext101_32x8d", {true, {3, 4, 23, 3}, 32, 8}),
      resnet("resnext101_64x4d", {true, {3, 4, 23, 3}, 64, 4}),
      resnet("wide_resnet50_2", {true, {3, 4, 6, 3}, 1, 128}),
      resnet("wide_resnet101_2", {true, {3, 4, 23, 3}, 1, 128}),
      vgg("vgg16", {{2, 2, 3, 3, 3}, false}),
      vgg("vgg16_bn", {{2, 2, 3, 3, 3}, true}),
      vgg("vgg19", {{2, 2, 4, 4, 4}, false}),
      vgg("vgg19_bn", {{2, 2, 4, 4, 4}, true}),
  };
  for (const std::string& name : common_vits()) all.push_back(vit(name, *vit_plan(name)));
  add_convnext(all);
  add_swin(all);
  add_mobile(all);
  add_densenet_and_regnet(all);
  return all;
}

// The letters and digits of a name, in lower case: "resnet18" for "ResNet-18".
std::string letters_of(const std::string& name) {
  std::string letters;
  for (const unsigned char c : name)
    if (std::isalnum(c) != 0) letters += static_cast<char>(std::tolower(c));
  return letters;
}

std::string digits_of(const std::string& name) {
  std::string digits;
  for (const char c : name)
    if (c >= '0' && c <= '9') digits += c;
  return digits;
}

// The architecture that a mistyped name means; empty if none is close. Another depth is another network, not a mistake.
std::string mistyped(const std::string& name) {
  std::vector<std::string> candidates;
  for (const std::string& known : architecture_names())
    if (known[0] == name[0] && digits_of(known) == digits_of(name)) candidates.push_back(known);
  return nearest(name, candidates);
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = all_entries();
  return all;
}

// A transformer that has a name but is not in the list.
const Entry* rare_vit(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Entry> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return &found->second;
  const std::optional<VitPlan> plan = vit_plan(name);
  return plan ? &known.emplace(name, vit(name, *plan)).first->second : nullptr;
}

const Entry& entry(const std::string& name) {
  for (const Entry& known : entries())
    if (known.fixed.name == name) return known;
  if (const Entry* rare = rare_vit(name)) return *rare;
  const std::string shown = printable(name), letters = letters_of(name);
  for (const std::string& known : architecture_names())
    if (letters_of(known) == letters) input_error("there is no architecture '{}'; did you mean {}?", shown, known);
  if (const std::string near = mistyped(name); !near.empty())
    input_error("there is no architecture '{}'; did you mean {}?", shown, near);
  input_error("there is no architecture '{}'; choose one of: {}", shown, fmt::join(architecture_names(), ", "));
}

}  // namespace

const Architecture& architecture(const std::string& name) {
  static const Architecture scripted = photographs(kTorchScript);
  return name == kTorchScript ? scripted : entry(name).fixed;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Entry& known : entries()) names.push_back(known.fixed.name);
  return names;
}

void require_preprocessing(const Architecture& network, const Preprocessing& preprocessing) {
  constexpr int kSmallest = 32;   // the networks halve the resolution five times
  constexpr int kLargest = 1024;  // activations take some hundred bytes per pixel
  if (!network.photographs && preprocessing.size != network.preprocessing.size)
    input_error("{} takes pictures of {}x{}, not {}x{}; choose another architecture", network.name,
                network.preprocessing.size, network.preprocessing.size, preprocessing.size, preprocessing.size);
  if (preprocessing.size % network.multiple != 0)
    input_error("{} takes pictures whose side is a multiple of {}, not {}; choose another --size", network.name,
                network.multiple, preprocessing.size);
  if (network.name != kTorchScript && preprocessing.size < kSmallest)
    input_error("{} takes pictures of at least {}x{}, not {}x{}", network.name, kSmallest, kSmallest,
                preprocessing.size, preprocessing.size);
  if (network.name != kTorchScript && preprocessing.size > kLargest)
    input_error("{} takes pictures of at most {}x{}, not {}x{}", network.name, kLargest, kLargest, preprocessing.size,
                preprocessing.size);
}

ModelInfo fresh_info(const std::string& name, const std::string& architecture_name, std::vector<std::string> classes) {
  const Architecture& network = architecture(architecture_name);
  ModelInfo info;
  info.name = utf8_text(name);
  info.architecture = architecture_name;
  info.classes = std::move(classes);
  info.preprocessing = network.preprocessing;
  info.normalisation = network.normalisation;
  info.bottleneck_dropout = network.bottleneck_dropout;
  return info;
}

Backbone make_backbone(const std::string& architecture, FirstStride first_stride, const Init& init, int64_t size) {
  const Entry& known = entry(architecture);
  return known.make(first_stride, init, size > 0 ? size : known.fixed.preprocessing.size);
}

}  // namespace tributary

#include "tributary/model/backbone.h"

#include <fmt/ranges.h>

#include <cctype>
#include <functional>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using Make = std::function<Backbone(FirstStride, const Init&)>;

struct Entry {
  Architecture fixed;
  Make make;
};

Entry digits(const std::string& name, Backbone (*make)(const Init&)) {
  return {{name, {32, 32}, {}, 0.5, 1e-2, false}, [make](FirstStride, const Init& init) { return make(init); }};
}

Architecture photographs(const std::string& name) {
  return {name, {224, 256}, kImageNetNormalisation, 0, 1e-3, true};
}

Entry resnet(const std::string& name, ResNetPlan plan) {
  return {photographs(name),
          [plan](FirstStride first_stride, const Init& init) { return make_resnet(plan, first_stride, init); }};
}

Entry vgg(const std::string& name, VggPlan plan) {
  return {photographs(name), [plan](FirstStride, const Init& init) { return make_vgg(plan, init); }};
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
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
      vgg("vgg16", {{2, 2, 3, 3, 3}, false}),
      vgg("vgg16_bn", {{2, 2, 3, 3, 3}, true}),
      vgg("vgg19", {{2, 2, 4, 4, 4}, false}),
      vgg("vgg19_bn", {{2, 2, 4, 4, 4}, true}),
  };
  return all;
}

// The letters and digits of a name, in lower case: "resnet18" for "ResNet-18".
std::string letters_of(const std::string& name) {
  std::string letters;
  for (const unsigned char c : name)
    if (std::isalnum(c) != 0) letters += static_cast<char>(std::tolower(c));
  return letters;
}

const Entry& entry(const std::string& name) {
  for (const Entry& known : entries())
    if (known.fixed.name == name) return known;
  for (const std::string& known : architecture_names())
    if (letters_of(known) == letters_of(name))
      input_error("there is no architecture '{}'; did you mean {}?", name, known);
  input_error("there is no architecture '{}'; choose one of: {}", name, fmt::join(architecture_names(), ", "));
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

Backbone make_backbone(const std::string& architecture, FirstStride first_stride, const Init& init) {
  return entry(architecture).make(first_stride, init);
}

}  // namespace tributary

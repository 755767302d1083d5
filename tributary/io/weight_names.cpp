#include "tributary/io/weight_names.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace tributary {
namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

// The first matching prefix is replaced. Names without a match belong to the backbone.
constexpr std::array<Renaming, 18> kRenamings = {{
    {"backbone.", "backbone."},
    {"bottleneck.linear.", "bottleneck.linear."},
    {"bottleneck.bn.", "bottleneck.bn."},
    {"bottleneck.", "bottleneck.linear."},
    {"bn.", "bottleneck.bn."},
    {"fc.parametrizations.weight.original0", "classifier.weight_g"},
    {"fc.parametrizations.weight.original1", "classifier.weight_v"},
    {"fc.", "classifier."},
    {"classifier.weight", "classifier.weight"},
    {"classifier.bias", "classifier.bias"},
    {"classifier.6.", "classifier."},  // VGG; its other linear layers belong to the backbone
    {"classifier.0.", "backbone.classifier.0."},
    {"classifier.3.", "backbone.classifier.3."},
    {"classifier.classifier0.", "backbone.classifier.0."},
    {"classifier.classifier3.", "backbone.classifier.3."},
    {"classifier.classifier6.", "classifier."},
    {"classifier.", "classifier."},
    {"", "backbone."},
}};

const std::vector<int64_t>* shape_of(const ShapeMap& shapes, const std::string& name) {
  const auto found = shapes.find(name);
  return found == shapes.end() ? nullptr : &found->second;
}

// The number of blocks "backbone.layerN.0", "backbone.layerN.1", .. per stage.
std::array<int, 4> residual_depth(const ShapeMap& shapes) {
  std::array<int, 4> depth = {};
  for (int stage = 0; stage < 4; ++stage) {
    const std::string prefix = "backbone.layer" + std::to_string(stage + 1) + ".";
    while (shapes.count(prefix + std::to_string(depth[stage]) + ".conv1.weight") > 0) ++depth[stage];
  }
  return depth;
}

std::string recognise_resnet(const ShapeMap& shapes) {
  const std::array<int, 4> depth = residual_depth(shapes);
  const auto is = [&](std::array<int, 4> other) { return depth == other; };
  if (shape_of(shapes, "backbone.layer1.0.conv3.weight") == nullptr)
    return is({2, 2, 2, 2}) ? "resnet18" : is({3, 4, 6, 3}) ? "resnet34" : "";
  const std::vector<int64_t>* middle = shape_of(shapes, "backbone.layer1.0.conv2.weight");
  if (middle == nullptr || middle->size() != 4) return "";
  const auto [out, in] = std::pair((*middle)[0], (*middle)[1]);
  if (out == 64 && in == 64)
    return is({3, 4, 6, 3}) ? "resnet50" : is({3, 4, 23, 3}) ? "resnet101" : is({3, 8, 36, 3}) ? "resnet152" : "";
  if (out == 128 && in == 128)
    return is({3, 4, 6, 3}) ? "wide_resnet50_2" : is({3, 4, 23, 3}) ? "wide_resnet101_2" : "";
  if (out == 128 && in == 4 && is({3, 4, 6, 3})) return "resnext50_32x4d";
  if (out == 256 && in == 8 && is({3, 4, 23, 3})) return "resnext101_32x8d";
  if (out == 256 && in == 4 && is({3, 4, 23, 3})) return "resnext101_64x4d";
  return "";
}

std::string recognise_vgg(const ShapeMap& shapes) {
  int convolutions = 0;
  bool norms = false;
  for (const auto& [name, shape] : shapes) {
    if (!name.starts_with("backbone.features.")) continue;
    convolutions += name.ends_with(".weight") && shape.size() == 4;
    norms = norms || name.ends_with(".running_mean");
  }
  if (convolutions != 13 && convolutions != 16) return "";
  return std::string(convolutions == 13 ? "vgg16" : "vgg19") + (norms ? "_bn" : "");
}

constexpr std::array<std::string_view, 9> kWrapperPrefixes = {
    "module.", "model.", "net.", "network.", "_orig_mod.", "ema_model.", "ema.", "model_ema.", "backbone."};

// Drops `prefix` where a name has it.
std::vector<std::string> without(const std::vector<std::string>& names, std::string_view prefix) {
  std::vector<std::string> rest;
  for (const std::string& name : names) rest.push_back(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
  return rest;
}

}  // namespace

std::vector<std::string> without_wrapper_prefixes(std::vector<std::string> names) {
  size_t skipped = 0;  // letters that all names have in common, so that a name of many prefixes is copied once
  for (bool changed = true; changed && !names.empty();) {
    changed = false;
    for (const std::string_view prefix : kWrapperPrefixes) {
      if (!std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.compare(skipped, prefix.size(), prefix) == 0; }))
        continue;
      skipped += prefix.size();
      changed = true;
    }
  }
  for (std::string& name : names) name.erase(0, skipped);
  return names;
}

std::vector<std::vector<std::string>> without_partial_prefixes(const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> all;
  for (const std::string_view prefix : kWrapperPrefixes)
    if (std::vector<std::string> rest = without(names, prefix); rest != names) all.push_back(std::move(rest));
  return all;
}

namespace {

// "fc.1.weight" to "fc.weight", if the layers of `head` ("fc.") have only one number.
void flatten_head(std::vector<std::string>& names, std::string_view head) {
  const auto number_of = [&](const std::string& name) -> std::string {
    if (!name.starts_with(head)) return {};
    const size_t end = name.find('.', head.size());
    const std::string part = name.substr(head.size(), end == std::string::npos ? end : end - head.size());
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    return digits && end != std::string::npos ? part : "";
  };
  std::set<std::string> numbers;
  for (const std::string& name : names)
    if (name.starts_with(head)) numbers.insert(number_of(name));
  if (numbers.size() != 1 || numbers.begin()->empty()) return;
  for (std::string& name : names)
    if (name.starts_with(head)) name.erase(head.size(), numbers.begin()->size() + 1);
}

std::vector<std::string> named_like_ours(std::vector<std::string> names) {
  for (const std::string_view head : {"fc.", "classifier.6."}) flatten_head(names, head);
  for (std::string& name : names) name = our_name(name);
  return names;
}

bool is_known(const std::vector<std::string>& names, const std::vector<ForeignTensor>& theirs) {
  ShapeMap shapes;
  for (size_t i = 0; i < names.size(); ++i) shapes.emplace(names[i], theirs[i].shape);
  return !recognise(shapes).empty();
}

}  // namespace

std::vector<std::string> our_names(const std::vector<ForeignTensor>& theirs) {
  std::vector<std::string> names;
  for (const ForeignTensor& tensor : theirs) names.push_back(tensor.name);
  names = without_wrapper_prefixes(std::move(names));
  std::vector<std::string> ours = named_like_ours(names);
  if (is_known(ours, theirs)) return ours;
  for (const std::string_view prefix : kWrapperPrefixes) {
    std::vector<std::string> inner = named_like_ours(without(names, prefix));
    if (is_known(inner, theirs)) return inner;
  }
  return ours;
}

std::vector<std::string> last_layer_candidates(const std::vector<ForeignTensor>& theirs) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<std::string> layers;
  for (auto tensor = theirs.rbegin(); tensor != theirs.rend(); ++tensor)
    if (tensor->shape.size() == 2 && tensor->name.ends_with(kWeight))
      layers.push_back(tensor->name.substr(0, tensor->name.size() - kWeight.size()));
  return layers;
}

std::string our_name(const std::string& theirs) {
  for (const auto& [prefix, ours] : kRenamings)
    if (theirs.starts_with(prefix)) return std::string(ours) + theirs.substr(prefix.size());
  return theirs;
}

std::string recognise(const ShapeMap& shapes) {
  if (shapes.count("backbone.conv_params.0.weight") > 0) return "dtn";
  if (shapes.count("backbone.features.0.weight") > 0) return recognise_vgg(shapes);
  if (shapes.count("backbone.layer1.0.conv1.weight") > 0) return recognise_resnet(shapes);
  const std::vector<int64_t>* first = shape_of(shapes, "backbone.conv1.weight");
  if (first != nullptr && *first == std::vector<int64_t>{20, 3, 5, 5}) return "lenet";
  return "";
}

}  // namespace tributary

#include "tributary/train/trained_layers.h"

#include <charconv>
#include <set>

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/model/layered_source.h"

namespace tributary {
namespace {

// Adds the names of a layer's parameters.
void add_names(const Layer& layer, std::set<std::string>& names) {
  Network alone;
  alone.add(layer.kind, {0}, layer.name);
  for (const NamedTensor& parameter : alone.tensors().parameters) names.insert("backbone." + parameter.name);
}

bool normalises(const Layer& layer) {
  return std::holds_alternative<BatchNorm>(layer.kind) || std::holds_alternative<LayerNorm>(layer.kind) ||
         std::holds_alternative<ResponseNorm>(layer.kind);
}

// N of "last-N"; 0 if it is something else.
int64_t last_count(const std::string& rule) {
  constexpr std::string_view kLast = "last-";
  int64_t count = 0;
  if (!rule.starts_with(kLast)) return 0;
  const char* end = rule.data() + rule.size();
  const auto read = std::from_chars(rule.data() + kLast.size(), end, count);
  return read.ec == std::errc() && read.ptr == end && count > 0 ? count : 0;
}

std::set<std::string> chosen_names(const Network& network, const std::string& rule) {
  std::set<std::string> names;
  if (rule == "norm") {
    for (const Layer& layer : network.layers())
      if (normalises(layer)) add_names(layer, names);
    return names;
  }
  int64_t branches = 0;  // a branch ends where it is added
  for (const Layer& layer : network.layers()) branches += std::holds_alternative<Add>(layer.kind);
  int64_t before = branches - last_count(rule);
  for (const Layer& layer : network.layers()) {
    if (before <= 0) add_names(layer, names);
    before -= std::holds_alternative<Add>(layer.kind);
  }
  return names;
}

}  // namespace

void declare(OptionTable& table, const std::string& section, BackboneTraining& training) {
  table
      .text(
          section, "train", &training.layers,
          "layers of the backbone that train: all, norm (normalisation only) or last-N (the last N residual branches; "
          "a transformer block has two)")
      .metavar("all|norm|last-N");
  table.number(section, "clip_gradient", &training.clip_gradient, -1, 1e6,
               "largest norm of a backbone's gradient; 0 for none, -1 for 1 in networks without BatchNorm");
}

NamedTensors trained_backbone(const SourceModel& source, const std::string& layers) {
  NamedTensors all = source.backbone_parameters();
  if (layers == "all") return all;
  if (layers != "norm" && last_count(layers) == 0)
    input_error("--train '{}' is unknown; choose all, norm or last-N, as in last-4", printable(layers));
  if (source.layered() == nullptr)
    input_error("--train {} needs to know the layers of {}, which is TorchScript; train all of it", layers,
                source.info().name);
  const std::set<std::string> chosen = chosen_names(source.layered()->network(), layers);
  NamedTensors trained;
  for (NamedTensor& parameter : all) {
    if (chosen.contains(parameter.name))
      trained.push_back(parameter);
    else
      parameter.value.set_requires_grad(false);
  }
  if (trained.empty())
    input_error("--train {}: {} ({}) has no such layers", layers, source.info().name, source.info().architecture);
  return trained;
}

double clip_of(const SourceModel& source, double given) {
  if (given >= 0) return given;
  LayeredSource* const layered = const_cast<SourceModel&>(source).layered();
  if (layered == nullptr || !architecture(source.info().architecture).photographs) return 0;
  return layered->network().batch_norms().empty() && !source.info().architecture.starts_with("vgg") ? 1 : 0;
}

SgdGroup backbone_group(const SourceModel& source, const BackboneTraining& training, double rate) {
  return {trained_backbone(source, training.layers), rate, clip_of(source, training.clip_gradient)};
}

}  // namespace tributary

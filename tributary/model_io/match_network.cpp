#include "tributary/model_io/match_network.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/io/dialects.h"
#include "tributary/io/weight_names.h"

namespace tributary {
namespace {

constexpr double kEnough = 0.9;  // share of tensors in common that makes a file one of an architecture

// A tensor of the file after translation: one of its entries, or several parts of it.
struct Candidate {
  std::vector<int64_t> shape;
  std::array<std::optional<size_t>, 3> parts;  // indices of entries; the first alone if it is whole
  bool whole = true;
};
using Candidates = std::map<std::string, Candidate>;

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count)) return -1;
  return count;
}

// Prefixes of wrappers around a network; "backbone." is the one of our own model files.
std::vector<std::string> bare_names(const TensorFile& file) {
  std::vector<std::string> names;
  for (const TensorEntry& entry : file.entries()) names.push_back(entry.name);
  return without_wrapper_prefixes(std::move(names));
}

Candidates candidates_of(const TensorFile& file, const std::vector<TranslatedName>& names) {
  Candidates all;
  for (size_t i = 0; i < names.size(); ++i) {
    const TensorEntry& entry = file.entries()[i];
    if (names[i].name.empty()) continue;
    const bool whole = names[i].part < 0;
    Candidate& candidate = all[names[i].name];
    std::optional<size_t>& place = candidate.parts[static_cast<size_t>(whole ? 0 : names[i].part)];
    if (place)
      input_error("{}: tensors {} and {} are the same parameter; give files of one model", file.path(),
                  printable(file.entries()[*place].name), printable(entry.name));
    place = i;
    candidate.whole = whole;
    candidate.shape = entry.shape;
    if (!whole && !entry.shape.empty()) candidate.shape[0] *= 3;
  }
  return all;
}

const std::vector<int64_t>* shape_in(const Candidates& all, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = all.find(name); found != all.end()) return &found->second.shape;
  return nullptr;
}

// The name of a linear layer after the features: one that some library uses, and no layer of the backbone.
std::string head_of(const Candidates& all, const Backbone& backbone) {
  for (const std::string& name : {backbone.head.timm, backbone.head.torchvision, std::string("head"),
                                  std::string("head.fc"), std::string("classifier"), std::string("fc")}) {
    const auto found = all.find(name + ".weight");
    if (found != all.end() && found->second.shape.size() == 2) return name;
  }
  return {};
}

// Vision transformers differ in too many details to try them all; the tensors tell them.
std::string transformer_in(const Candidates& all, bool clip) {
  const std::vector<int64_t>* patches = shape_in(all, {"patch_embed.proj.weight", "conv_proj.weight"});
  if (patches == nullptr || patches->size() != 4) return {};
  VitPlan plan{};
  plan.channels = (*patches)[0];
  plan.patch = (*patches)[2];
  constexpr int64_t kHeadChannels = 64;
  plan.heads = plan.channels / kHeadChannels;
  while (all.contains(fmt::format("blocks.{}.norm1.weight", plan.depth)) ||
         all.contains(fmt::format("encoder.layers.encoder_layer_{}.ln_1.weight", plan.depth)))
    ++plan.depth;
  plan.pre_norm = shape_in(all, {"norm_pre.weight", "encoder.ln_pre.weight"}) != nullptr;
  plan.quick_gelu = clip;
  plan.layer_scale = shape_in(all, {"blocks.0.ls1.gamma", "encoder.layers.encoder_layer_0.ls_1.gamma"}) != nullptr;
  if (const std::vector<int64_t>* registers = shape_in(all, {"reg_token"}); registers && registers->size() == 3)
    plan.registers = (*registers)[1];
  plan.class_token = shape_in(all, {"cls_token", "class_token"}) != nullptr;
  plan.norm_after_pool = shape_in(all, {"fc_norm.weight"}) != nullptr;
  plan.last_norm = plan.norm_after_pool || shape_in(all, {"norm.weight", "encoder.ln.weight"}) != nullptr;
  if (!plan.class_token || plan.norm_after_pool || !plan.last_norm) plan.pool = TokenPool::Of::kPatches;
  const std::vector<int64_t>* head = shape_in(all, {"head.weight", "heads.head.weight", "classifier.weight"});
  if (head && head->size() == 2 && (*head)[1] == 2 * plan.channels) plan.pool = TokenPool::Of::kBoth;
  return vit_name(plan);
}

// How the tensors of a file fit an architecture.
struct Fit {
  double share = 0;
  std::map<std::string, std::string> ours;  // name in the file, translated -> our name
  std::vector<std::string> unfit;           // translated names of the file that do not fit
};

bool is_position(const std::string& name) {
  return name == "backbone.encoder.pos_embedding";
}

Fit fit_of(const Candidates& all, const std::string& name) {
  const Backbone backbone = make_backbone(name, FirstStride::kIn3x3, {});
  const TensorList own = backbone.network.tensors();
  Fit best;
  for (const Naming naming : {Naming::kTorchvision, Naming::kTimm}) {
    // timm's MobileNet v3 has another epsilon than torchvision's, and is an architecture of its own.
    const bool timm = naming == Naming::kTimm;
    if (timm && name.starts_with("mobilenet_v3")) continue;
    if (!timm && name.starts_with("mobilenetv3")) continue;
    Fit fit;
    size_t expected = 0;
    const TensorList theirs = backbone.network.tensors(naming);
    const auto compare = [&](const NamedTensors& mine, const NamedTensors& named) {
      for (size_t i = 0; i < mine.size(); ++i) {
        if (mine[i].name.ends_with(".num_batches_tracked")) {
          if (all.contains(named[i].name)) fit.ours.emplace(named[i].name, "backbone." + mine[i].name);
          continue;
        }
        ++expected;
        const auto found = all.find(named[i].name);
        if (found == all.end()) continue;
        const std::string ours = "backbone." + mine[i].name;
        if (count_of(found->second.shape) == mine[i].value.numel() || is_position(ours))
          fit.ours.emplace(named[i].name, ours);
      }
    };
    compare(own.parameters, theirs.parameters);
    compare(own.buffers, theirs.buffers);
    size_t fitting = 0, present = 0;
    for (const auto& [theirs_name, ours] : fit.ours) fitting += !ours.ends_with(".num_batches_tracked");
    bool other_constants = false;
    for (const NamedTensor& constant : backbone.network.constants(naming)) {
      const auto found = all.find(constant.name);
      if (found == all.end()) continue;
      fit.ours.emplace(constant.name, "");
      other_constants = other_constants || count_of(found->second.shape) != constant.value.numel();
    }
    if (const std::string head = head_of(all, backbone); !head.empty())
      for (const char* tensor : {".weight", ".bias"})
        if (all.contains(head + tensor)) fit.ours.emplace(head + tensor, std::string("classifier") + tensor);
    for (const auto& [tensor, candidate] : all) {
      if (tensor.ends_with(".num_batches_tracked")) continue;
      ++present;
      if (!fit.ours.contains(tensor)) fit.unfit.push_back(tensor);
    }
    const size_t constants = static_cast<size_t>(
        std::count_if(fit.ours.begin(), fit.ours.end(), [](const auto& pair) { return pair.second.empty(); }));
    fit.share =
        static_cast<double>(fitting) / static_cast<double>(std::max({expected, present - constants, size_t{1}}));
    if (other_constants) fit.share /= 2;  // another window
    if (fit.share > best.share) best = std::move(fit);
  }
  return best;
}

// Joins the parts of a tensor along its first dimension; a missing part is zero.
void join(const Candidate& candidate, const TensorFile& file, NetworkMatch& match) {
  const TensorEntry* first = nullptr;
  for (const std::optional<size_t>& part : candidate.parts)
    if (part && first == nullptr) first = &file.entries()[*part];
  TRIBUTARY_CHECK(first != nullptr, "{}: a tensor without parts", file.path());
  std::vector<uint8_t>& bytes = match.bytes.emplace_back();
  for (const std::optional<size_t>& part : candidate.parts) {
    const TensorEntry* entry = part ? &file.entries()[*part] : nullptr;
    if (entry && (entry->dtype != first->dtype || entry->shape != first->shape))
      input_error("{}: tensors {} and {} differ in shape or dtype; give files of one model", file.path(),
                  printable(first->name), printable(entry->name));
    if (entry)
      bytes.insert(bytes.end(), entry->data.begin(), entry->data.end());
    else
      bytes.resize(bytes.size() + first->data.size(), 0);
  }
  TensorEntry joined{first->name, first->dtype, candidate.shape, bytes};
  match.made.push_back(std::move(joined));
  match.joined[static_cast<size_t>(first - file.entries().data())] = &match.made.back();
}

}  // namespace

bool has_common_names(const std::string& architecture) {
  const auto starts = [&](const char* family) { return architecture.starts_with(family); };
  return architecture == "lenet" || architecture == "dtn" || starts("resne") || starts("wide_resnet") || starts("vgg");
}

namespace {

NetworkMatch match_names(const TensorFile& file, const std::vector<std::string>& bare,
                         const std::string& architecture) {
  NetworkMatch match;
  const std::vector<TranslatedName> names = translate_names(bare);
  const Candidates all = candidates_of(file, names);
  std::vector<std::string> tried;
  if (!architecture.empty()) {
    tried = {architecture};
  } else {
    const std::string transformer = transformer_in(all, is_clip(bare));
    if (!transformer.empty()) tried.push_back(transformer);
    for (const std::string& name : architecture_names())
      if (!name.starts_with("vit_")) tried.push_back(name);
  }
  Fit best;
  for (const std::string& name : tried) {
    Fit fit = fit_of(all, name);
    if (fit.share <= best.share) continue;
    best = std::move(fit);
    match.nearest = name;
    if (best.share == 1) break;
  }
  if (!architecture.empty() || (best.share >= kEnough && !has_common_names(match.nearest)))
    match.architecture = tried.size() == 1 ? tried.front() : match.nearest;
  match.names.resize(names.size());
  match.joined.resize(names.size());
  for (const auto& [name, candidate] : all) {
    const auto found = best.ours.find(name);
    const size_t place = **std::find_if(candidate.parts.begin(), candidate.parts.end(),
                                        [](const auto& part) { return part.has_value(); });
    match.names[place] = found == best.ours.end() ? "backbone." + name : found->second;
    if (!candidate.whole) join(candidate, file, match);
  }
  for (const std::string& name : best.unfit) {
    const Candidate& candidate = all.at(name);
    for (const std::optional<size_t>& part : candidate.parts)
      if (part) match.unfit.push_back(file.entries()[*part].name);
  }
  match.share = best.share;
  return match;
}

}  // namespace

NetworkMatch match_network(const TensorFile& file, const std::string& architecture) {
  const std::vector<std::string> bare = bare_names(file);
  NetworkMatch best = match_names(file, bare, architecture);
  if (best.share >= kEnough) return best;
  for (const std::vector<std::string>& inner : without_partial_prefixes(bare))
    if (NetworkMatch match = match_names(file, inner, architecture); match.share > best.share) best = std::move(match);
  return best;
}

}  // namespace tributary

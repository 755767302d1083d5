#include "tributary/io/dialects.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace tributary {
namespace {

// '#' stands for a number; those of `from` are inserted in `to` in their order. `from` is the start of a name.
struct Rule {
  std::string_view from, to;
  int part = -1;
};

// The first matching rule applies.
constexpr std::array kRules = {
    // Hugging Face: ViT, DeiT, DINOv2
    Rule{"embeddings.cls_token", "cls_token"},
    Rule{"embeddings.position_embeddings", "pos_embed"},
    Rule{"embeddings.register_tokens", "reg_token"},
    Rule{"embeddings.patch_embeddings.projection.", "patch_embed.proj."},
    Rule{"encoder.layer.#.attention.attention.query.", "blocks.#.attn.qkv.", 0},
    Rule{"encoder.layer.#.attention.attention.key.", "blocks.#.attn.qkv.", 1},
    Rule{"encoder.layer.#.attention.attention.value.", "blocks.#.attn.qkv.", 2},
    Rule{"encoder.layer.#.attention.output.dense.", "blocks.#.attn.proj."},
    Rule{"encoder.layer.#.intermediate.dense.", "blocks.#.mlp.fc1."},
    Rule{"encoder.layer.#.output.dense.", "blocks.#.mlp.fc2."},
    Rule{"encoder.layer.#.layernorm_before.", "blocks.#.norm1."},
    Rule{"encoder.layer.#.layernorm_after.", "blocks.#.norm2."},
    Rule{"encoder.layer.#.layer_scale#.lambda1", "blocks.#.ls#.gamma"},
    Rule{"encoder.layer.#.", "blocks.#."},
    // DINOv2
    Rule{"register_tokens", "reg_token"},
    Rule{"linear_head.", "head."},
    // CLIP, Hugging Face
    Rule{"embeddings.class_embedding", "cls_token"},
    Rule{"embeddings.position_embedding.weight", "pos_embed"},
    Rule{"embeddings.patch_embedding.", "patch_embed.proj."},
    Rule{"pre_layrnorm.", "norm_pre."},
    Rule{"encoder.layers.#.self_attn.q_proj.", "blocks.#.attn.qkv.", 0},
    Rule{"encoder.layers.#.self_attn.k_proj.", "blocks.#.attn.qkv.", 1},
    Rule{"encoder.layers.#.self_attn.v_proj.", "blocks.#.attn.qkv.", 2},
    Rule{"encoder.layers.#.self_attn.out_proj.", "blocks.#.attn.proj."},
    Rule{"encoder.layers.#.layer_norm#.", "blocks.#.norm#."},
    Rule{"encoder.layers.#.mlp.", "blocks.#.mlp."},
    Rule{"post_layernorm.", "norm."},
    // CLIP, OpenAI
    Rule{"class_embedding", "cls_token"},
    Rule{"positional_embedding", "pos_embed"},
    Rule{"ln_pre.", "norm_pre."},
    Rule{"ln_post.", "norm."},
    Rule{"transformer.resblocks.#.attn.in_proj_", "blocks.#.attn.qkv."},
    Rule{"transformer.resblocks.#.attn.out_proj.", "blocks.#.attn.proj."},
    Rule{"transformer.resblocks.#.ln_#.", "blocks.#.norm#."},
    Rule{"transformer.resblocks.#.mlp.c_fc.", "blocks.#.mlp.fc1."},
    Rule{"transformer.resblocks.#.mlp.c_proj.", "blocks.#.mlp.fc2."},
    // Swin, Hugging Face
    Rule{"embeddings.norm.", "patch_embed.norm."},
    Rule{"encoder.layers.#.blocks.#.attention.self.query.", "layers.#.blocks.#.attn.qkv.", 0},
    Rule{"encoder.layers.#.blocks.#.attention.self.key.", "layers.#.blocks.#.attn.qkv.", 1},
    Rule{"encoder.layers.#.blocks.#.attention.self.value.", "layers.#.blocks.#.attn.qkv.", 2},
    Rule{"encoder.layers.#.blocks.#.attention.self.continuous_position_bias_mlp.", "layers.#.blocks.#.attn.cpb_mlp."},
    Rule{"encoder.layers.#.blocks.#.attention.self.", "layers.#.blocks.#.attn."},
    Rule{"encoder.layers.#.blocks.#.attention.output.dense.", "layers.#.blocks.#.attn.proj."},
    Rule{"encoder.layers.#.blocks.#.layernorm_before.", "layers.#.blocks.#.norm1."},
    Rule{"encoder.layers.#.blocks.#.layernorm_after.", "layers.#.blocks.#.norm2."},
    Rule{"encoder.layers.#.blocks.#.intermediate.dense.", "layers.#.blocks.#.mlp.fc1."},
    Rule{"encoder.layers.#.blocks.#.output.dense.", "layers.#.blocks.#.mlp.fc2."},
    Rule{"encoder.layers.#.downsample.", "layers.#.downsample."},
    // Swin v2: no bias of the keys
    Rule{"layers.#.blocks.#.attn.q_bias", "layers.#.blocks.#.attn.qkv.bias", 0},
    Rule{"layers.#.blocks.#.attn.k_bias", "layers.#.blocks.#.attn.qkv.bias", 1},
    Rule{"layers.#.blocks.#.attn.v_bias", "layers.#.blocks.#.attn.qkv.bias", 2},
    // ConvNeXt, Hugging Face
    Rule{"embeddings.patch_embeddings.", "stem.0."},
    Rule{"embeddings.layernorm.", "stem.1."},
    Rule{"encoder.stages.#.downsampling_layer.#.", "stages.#.downsample.#."},
    Rule{"encoder.stages.#.layers.#.dwconv.", "stages.#.blocks.#.conv_dw."},
    Rule{"encoder.stages.#.layers.#.layernorm.", "stages.#.blocks.#.norm."},
    Rule{"encoder.stages.#.layers.#.pwconv#.", "stages.#.blocks.#.mlp.fc#."},
    Rule{"encoder.stages.#.layers.#.grn.", "stages.#.blocks.#.mlp.grn."},
    Rule{"encoder.stages.#.layers.#.layer_scale_parameter", "stages.#.blocks.#.gamma"},
    // ConvNeXt, its authors
    Rule{"downsample_layers.0.#.", "stem.#."},
    Rule{"downsample_layers.#.#.", "stages.#.downsample.#."},
    Rule{"stages.#.#.dwconv.", "stages.#.blocks.#.conv_dw."},
    Rule{"stages.#.#.pwconv#.", "stages.#.blocks.#.mlp.fc#."},
    Rule{"stages.#.#.grn.gamma", "stages.#.blocks.#.mlp.grn.weight"},
    Rule{"stages.#.#.grn.beta", "stages.#.blocks.#.mlp.grn.bias"},
    Rule{"stages.#.#.", "stages.#.blocks.#."},
    // older torchvision
    Rule{"encoder.layers.encoder_layer_#.mlp.linear_1.", "encoder.layers.encoder_layer_#.mlp.0."},
    Rule{"encoder.layers.encoder_layer_#.mlp.linear_2.", "encoder.layers.encoder_layer_#.mlp.3."},
    Rule{"features.denseblock#.denselayer#.norm.#.", "features.denseblock#.denselayer#.norm#."},
    Rule{"features.denseblock#.denselayer#.conv.#.", "features.denseblock#.denselayer#.conv#."},
};

// Hugging Face prefixes a model with its type where a classifier follows it.
constexpr std::array<std::string_view, 9> kModelPrefixes = {
    "vit.",        "deit.", "dinov2.", "dinov2_with_registers.", "convnext.",
    "convnextv2.", "swin.", "swinv2.", "vision_model."};
// Tensors that follow from the shape, or belong to tasks other than classification.
constexpr std::array<std::string_view, 4> kNoWeights = {"attn_mask", "mask_token", "position_ids", "pooler."};

// The rest of `name` after `rule.from`, translated; nullopt if it does not start with it.
std::optional<std::string> apply(const Rule& rule, std::string_view name) {
  std::vector<std::string_view> numbers;
  size_t at = 0;
  for (const char expected : rule.from) {
    if (expected != '#') {
      if (at >= name.size() || name[at++] != expected) return std::nullopt;
      continue;
    }
    const size_t begin = at;
    while (at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0) ++at;
    if (at == begin) return std::nullopt;
    numbers.push_back(name.substr(begin, at - begin));
  }
  const bool whole = rule.to.back() != '.' && rule.from.back() != '_';  // the rule names a tensor
  if (whole && at != name.size()) return std::nullopt;
  std::string result;
  size_t used = 0;
  for (const char c : rule.to)
    if (c == '#')
      result += numbers[used++];
    else
      result += c;
  return result + std::string(name.substr(at));
}

std::string_view without_model_prefix(std::string_view name) {
  for (const std::string_view prefix : kModelPrefixes)
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

bool any_starts_with(const std::vector<std::string>& names, std::string_view prefix) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(prefix); });
}

// Older files number a downsampling with the stage before it.
void renumber_downsampling(std::vector<TranslatedName>& names) {
  constexpr Rule kDownsample{"layers.#.downsample.", "#"};
  const bool old = std::any_of(names.begin(), names.end(),
                               [](const auto& known) { return known.name.starts_with("layers.0.downsample."); });
  if (!old) return;
  for (TranslatedName& known : names) {
    if (!known.name.starts_with("layers.")) continue;
    const size_t dot = known.name.find('.', 7);
    if (dot == std::string::npos || known.name.compare(dot, 12, ".downsample.") != 0) continue;
    if (!apply({kDownsample.from, "x."}, known.name)) continue;
    int stage = 0;
    const auto read = std::from_chars(known.name.data() + 7, known.name.data() + dot, stage);
    if (read.ec != std::errc() || stage == std::numeric_limits<int>::max()) continue;
    known.name = "layers." + std::to_string(stage + 1) + known.name.substr(dot);
  }
}

}  // namespace

bool is_clip(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.find("transformer.resblocks.0.") != std::string::npos ||
           name.find("pre_layrnorm.") != std::string::npos;
  });
}

std::vector<TranslatedName> translate_names(const std::vector<std::string>& names) {
  const bool openai = any_starts_with(names, "visual."), vision = any_starts_with(names, "vision_model.");
  const bool clip = is_clip(names);
  // Hugging Face's classifier takes the mean of the patches without the last LayerNorm.
  const bool classified = vision && any_starts_with(names, "classifier.");
  const auto has = [&](std::string_view start) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return without_model_prefix(name).starts_with(start); });
  };
  const bool convnext = has("encoder.stages.0.") || has("downsample_layers.");
  std::vector<TranslatedName> result;
  for (const std::string& full : names) {
    std::string_view name = full;
    const auto useless = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    if (std::any_of(kNoWeights.begin(), kNoWeights.end(), useless) || (openai && !name.starts_with("visual.")) ||
        name == "visual.proj" || (vision && !name.starts_with("vision_model.") && !name.starts_with("classifier.")) ||
        (classified && name.starts_with("vision_model.post_layernorm."))) {
      result.push_back({});
      continue;
    }
    if (openai) name.remove_prefix(std::string_view("visual.").size());
    name = without_model_prefix(name);
    TranslatedName known{std::string(name)};
    if (name.starts_with("layernorm.") || (name.starts_with("norm.") && convnext))
      known.name = (convnext ? "head.norm." : "norm.") + std::string(name.substr(name.find('.') + 1));
    else if (clip && name == "conv1.weight")
      known.name = "patch_embed.proj.weight";
    else
      for (const Rule& rule : kRules)
        if (const std::optional<std::string> translated = apply(rule, name)) {
          known = {*translated, rule.part};
          break;
        }
    result.push_back(std::move(known));
  }
  renumber_downsampling(result);
  return result;
}

}  // namespace tributary

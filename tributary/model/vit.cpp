// Vision transformers: ViT, DeiT, DINOv2 and the image tower of CLIP.
//
// Names: vit_SIZE_PATCH with torchvision's structure, and suffixes for what differs, in this order: "clip" (pre-norm
// and quick GELU) or "prenorm", "ls" (LayerScale), "reg" (four registers), and for features other than the class token
// "gap" (mean of the patches, no class token), "mean" (normalised mean of the patches), "raw" (mean of the patches
// without the last LayerNorm) or "both" (class token and mean).
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <sstream>

#include "tributary/base/error.h"
#include "tributary/model/backbone.h"

namespace tributary {
namespace {

struct VitSize {
  const char* name;
  int64_t channels, depth, heads;
};
constexpr std::array<VitSize, 4> kSizes = {
    {{"ti", 192, 12, 3}, {"s", 384, 12, 6}, {"b", 768, 12, 12}, {"l", 1024, 24, 16}}};
constexpr std::array<int64_t, 4> kPatches = {8, 14, 16, 32};
constexpr int64_t kRegisters = 4;
constexpr double kClipEpsilon = 1e-5;
constexpr double kVitLayerScale = 1e-5;
constexpr int64_t kMlpRatio = 4;

class VitBuilder {
 public:
  VitBuilder(const VitPlan& plan, const Init& init) : plan_(plan), init_(init) {}

  Backbone build(int64_t size) {
    const int64_t side = size / plan_.patch, channels = plan_.channels;
    TRIBUTARY_CHECK(side > 0, "pictures of {} have no patch of {}", size, plan_.patch);
    net_.then(Conv2d({.in = 3, .out = channels, .kernel = plan_.patch, .stride = plan_.patch, .bias = !plan_.pre_norm},
                     Start::kNarrow, next()),
              {"conv_proj", "patch_embed.proj"});
    net_.then(ChannelsLast{});
    net_.then(MapTokens{});
    const TokenShape tokens{side * side, channels, plan_.class_token, plan_.registers};
    net_.then(TokenEmbedding(tokens, next()));
    if (plan_.pre_norm) norm({"encoder.ln_pre", "norm_pre"});
    for (int64_t i = 0; i < plan_.depth; ++i)
      block(fmt::format("encoder.layers.encoder_layer_{}.", i), fmt::format("blocks.{}.", i));
    // LayerNorm treats every token by itself, so the class token can be taken before it.
    const bool pool_first = plan_.pool == TokenPool::Of::kClass || plan_.norm_after_pool;
    if (pool_first) net_.then(TokenPool{plan_.pool, tokens.extra()});
    if (plan_.last_norm) norm({"encoder.ln", plan_.norm_after_pool ? "fc_norm" : "norm"});
    if (!pool_first) net_.then(TokenPool{plan_.pool, tokens.extra()});
    return {std::move(net_), (plan_.pool == TokenPool::Of::kBoth ? 2 : 1) * channels, {"heads.head", "head"}};
  }

 private:
  Init next() { return child(init_, number_++); }
  void norm(LayerName name) { net_.then(LayerNorm(plan_.channels, plan_.epsilon), std::move(name)); }
  void scaled_sum(int residual, const std::string& torchvision, const std::string& timm) {
    if (plan_.layer_scale)
      net_.then(ChannelScale({plan_.channels}, kVitLayerScale), {torchvision + ".gamma", timm + ".gamma"});
    net_.add(Add{}, {residual, net_.last()});
  }

  void block(const std::string& torchvision, const std::string& timm) {
    using Function = Activation::Function;
    const int64_t channels = plan_.channels;
    int input = net_.last();
    norm({torchvision + "ln_1", timm + "norm1"});
    net_.then(Attention(channels, plan_.heads, next()), {torchvision + "self_attention", timm + "attn"});
    scaled_sum(input, torchvision + "ls_1", timm + "ls1");
    input = net_.last();
    norm({torchvision + "ln_2", timm + "norm2"});
    net_.then(Linear(channels, kMlpRatio * channels, Start::kXavier, next()),
              {torchvision + "mlp.0", timm + "mlp.fc1"});
    net_.then(Activation{plan_.quick_gelu ? Function::kQuickGelu : Function::kGelu});
    net_.then(Linear(kMlpRatio * channels, channels, Start::kXavier, next()),
              {torchvision + "mlp.3", timm + "mlp.fc2"});
    scaled_sum(input, torchvision + "ls_2", timm + "ls2");
  }

  const VitPlan& plan_;
  Init init_;
  uint64_t number_ = 0;
  Network net_;
};

}  // namespace

std::optional<VitPlan> vit_plan(const std::string& name) {
  std::istringstream parts(name);
  const auto next = [&] {
    std::string part;
    std::getline(parts, part, '_');
    return part;
  };
  if (next() != "vit") return std::nullopt;
  VitPlan plan{};
  const std::string size = next(), patch = next();
  for (const VitSize& known : kSizes)
    if (size == known.name)
      std::tie(plan.channels, plan.depth, plan.heads) = std::tie(known.channels, known.depth, known.heads);
  for (const int64_t known : kPatches)
    if (patch == std::to_string(known)) plan.patch = known;
  for (std::string part = next(); !part.empty(); part = next()) {
    plan.pre_norm = plan.pre_norm || part == "clip" || part == "prenorm";
    plan.quick_gelu = plan.quick_gelu || part == "clip";
    plan.layer_scale = plan.layer_scale || part == "ls";
    if (part == "reg") plan.registers = kRegisters;
    if (part == "gap") plan.class_token = false;
    if (part == "gap" || part == "mean") plan.pool = TokenPool::Of::kPatches;
    if (part == "mean") plan.norm_after_pool = true;
    if (part == "raw") std::tie(plan.pool, plan.last_norm) = std::pair(TokenPool::Of::kPatches, false);
    if (part == "both") plan.pool = TokenPool::Of::kBoth;
  }
  if (plan.pre_norm) plan.epsilon = kClipEpsilon;
  return vit_name(plan) == name ? std::optional(plan) : std::nullopt;
}

std::string vit_name(const VitPlan& plan) {
  std::string name;
  for (const VitSize& known : kSizes)
    if (plan.channels == known.channels && plan.depth == known.depth && plan.heads == known.heads)
      name = fmt::format("vit_{}_{}", known.name, plan.patch);
  if (name.empty() || std::find(kPatches.begin(), kPatches.end(), plan.patch) == kPatches.end()) return {};
  if (plan.registers != 0 && plan.registers != kRegisters) return {};
  if (plan.pre_norm) name += plan.quick_gelu ? "_clip" : "_prenorm";
  if (plan.layer_scale) name += "_ls";
  if (plan.registers > 0) name += "_reg";
  if (plan.pool == TokenPool::Of::kPatches) name += !plan.last_norm ? "_raw" : plan.class_token ? "_mean" : "_gap";
  if (plan.pool == TokenPool::Of::kBoth) name += "_both";
  return name;
}

Backbone make_vit(const VitPlan& plan, int64_t size, const Init& init) {
  return VitBuilder(plan, init).build(size);
}

}  // namespace tributary

// Swin transformers and Swin v2.
#include <fmt/format.h>

#include "tributary/model/backbone.h"

namespace tributary {
namespace {

constexpr double kSwinEpsilon = 1e-5;  // of LayerNorm

class SwinBuilder {
 public:
  SwinBuilder(const SwinPlan& plan, const Init& init) : plan_(plan), init_(init) {}

  Backbone build() {
    int64_t channels = plan_.channels;
    net_.then(Conv2d({3, channels, 4, 4}, Start::kNarrow, next()), {"features.0.0", "patch_embed.proj"});
    net_.then(ChannelsLast{});
    norm(channels, {"features.0.2", "patch_embed.norm"});
    for (size_t stage = 0; stage < plan_.depth.size(); ++stage) {
      if (stage > 0) {
        merge(channels, fmt::format("features.{}.", 2 * stage), fmt::format("layers.{}.downsample.", stage));
        channels *= 2;
      }
      for (int64_t i = 0; i < plan_.depth[stage]; ++i)
        block({channels, plan_.heads << stage, plan_.window[stage], i % 2 == 1, plan_.v2},
              fmt::format("features.{}.{}.", 2 * stage + 1, i), fmt::format("layers.{}.blocks.{}.", stage, i));
    }
    norm(channels, "norm");
    net_.then(ChannelsFirst{});
    net_.then(AveragePool{1});
    net_.then(Flatten{});
    return {std::move(net_), channels, {"head", "head.fc"}};
  }

 private:
  Init next() { return child(init_, number_++); }
  void norm(int64_t channels, LayerName name) { net_.then(LayerNorm(channels, kSwinEpsilon), std::move(name)); }

  // Swin v2 normalises after a layer instead of before it.
  void merge(int64_t channels, const std::string& torchvision, const std::string& timm) {
    net_.then(PatchMerge{});
    if (!plan_.v2) norm(4 * channels, {torchvision + "norm", timm + "norm"});
    net_.then(Linear(4 * channels, 2 * channels, Start::kNarrow, next(), /*with_bias=*/false),
              {torchvision + "reduction", timm + "reduction"});
    if (plan_.v2) norm(2 * channels, {torchvision + "norm", timm + "norm"});
  }

  template <typename Part>
  void residual(int64_t channels, const LayerName& name, Part part) {
    const int input = net_.last();
    if (!plan_.v2) norm(channels, name);
    part();
    if (plan_.v2) norm(channels, name);
    net_.add(Add{}, {input, net_.last()});
  }

  void block(const WindowShape& shape, const std::string& torchvision, const std::string& timm) {
    const int64_t channels = shape.channels;
    residual(channels, {torchvision + "norm1", timm + "norm1"}, [&] {
      net_.then(WindowAttention(shape, next()), {torchvision + "attn", timm + "attn"});
    });
    residual(channels, {torchvision + "norm2", timm + "norm2"}, [&] {
      net_.then(Linear(channels, 4 * channels, Start::kNarrow, next()), {torchvision + "mlp.0", timm + "mlp.fc1"});
      net_.then(Activation{Activation::Function::kGelu});
      net_.then(Linear(4 * channels, channels, Start::kNarrow, next()), {torchvision + "mlp.3", timm + "mlp.fc2"});
    });
  }

  const SwinPlan& plan_;
  Init init_;
  uint64_t number_ = 0;
  Network net_;
};

}  // namespace

Backbone make_swin(const SwinPlan& plan, const Init& init) {
  return SwinBuilder(plan, init).build();
}

}  // namespace tributary

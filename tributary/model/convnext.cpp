// ConvNeXt and ConvNeXt v2.
#include <fmt/format.h>

#include "tributary/model/backbone.h"

namespace tributary {
namespace {

constexpr double kConvNextEpsilon = 1e-6;  // of LayerNorm
constexpr double kConvNextLayerScale = 1e-6;

}  // namespace

// timm numbers the downsampling with the stage that it starts; torchvision counts it as a stage of its own.
Backbone make_convnext(const ConvNextPlan& plan, const Init& init) {
  Network net;
  uint64_t number = 0;
  const auto next = [&] { return child(init, number++); };
  const auto norm = [&](int64_t channels, LayerName name) {
    net.then(LayerNorm(channels, kConvNextEpsilon), std::move(name));
  };
  net.then(Conv2d({3, plan.channels[0], 4, 4}, Start::kNarrow, next()), {"features.0.0", "stem.0"});
  net.then(ChannelsLast{});
  norm(plan.channels[0], {"features.0.1", "stem.1"});
  for (size_t stage = 0; stage < plan.depth.size(); ++stage) {
    const int64_t channels = plan.channels[stage];
    if (stage > 0) {
      const std::string torchvision = fmt::format("features.{}.", 2 * stage),
                        timm = fmt::format("stages.{}.downsample.", stage);
      norm(plan.channels[stage - 1], {torchvision + "0", timm + "0"});
      net.then(ChannelsFirst{});
      net.then(Conv2d({plan.channels[stage - 1], channels, 2, 2}, Start::kNarrow, next()),
               {torchvision + "1", timm + "1"});
      net.then(ChannelsLast{});
    }
    for (int64_t block = 0; block < plan.depth[stage]; ++block) {
      const std::string torchvision = fmt::format("features.{}.{}.", 2 * stage + 1, block);
      const std::string timm = fmt::format("stages.{}.blocks.{}.", stage, block);
      const int input = net.last();
      net.then(ChannelsFirst{});
      net.then(Conv2d({channels, channels, 7, 1, 3, channels}, Start::kNarrow, next()),
               {torchvision + "block.0", timm + "conv_dw"});
      net.then(ChannelsLast{});
      norm(channels, {torchvision + "block.2", timm + "norm"});
      net.then(Linear(channels, 4 * channels, Start::kNarrow, next()), {torchvision + "block.3", timm + "mlp.fc1"});
      net.then(Activation{Activation::Function::kGelu});
      if (plan.response_norm) net.then(ResponseNorm(4 * channels), {torchvision + "block.grn", timm + "mlp.grn"});
      net.then(Linear(4 * channels, channels, Start::kNarrow, next()), {torchvision + "block.5", timm + "mlp.fc2"});
      if (!plan.response_norm)
        net.then(ChannelScale({channels, 1, 1}, kConvNextLayerScale), {torchvision + "layer_scale", timm + "gamma"});
      net.add(Add{}, {input, net.last()});
    }
  }
  net.then(ChannelsFirst{});
  net.then(AveragePool{1});
  net.then(Flatten{});
  norm(plan.channels.back(), {"classifier.0", "head.norm"});
  return {std::move(net), plan.channels.back(), {"classifier.2", "head.fc"}};
}

}  // namespace tributary

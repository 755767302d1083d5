// DenseNet.
#include <fmt/format.h>

#include "tributary/model/backbone.h"

namespace tributary {

Backbone make_densenet(const DenseNetPlan& plan, const Init& init) {
  constexpr int64_t kBottleneck = 4;  // channels of the 1x1 convolution per new channel
  Network net;
  uint64_t number = 0;
  const auto conv = [&](ConvShape shape, const std::string& name) {
    shape.bias = false;
    net.then(Conv2d(shape, Start::kFanOut, child(init, number++)), name);
  };
  const auto norm = [&](int64_t channels, const std::string& name) {
    net.then(BatchNorm(channels), name);
    net.then(Relu{});
  };
  int64_t channels = plan.stem;
  conv({3, channels, 7, 2, 3}, "features.conv0");
  norm(channels, "features.norm0");
  net.then(MaxPool{3, 2, 1});
  for (size_t block = 0; block < plan.depth.size(); ++block) {
    std::vector<int> parts = {net.last()};  // a layer reads the outputs of all layers before it
    for (int64_t i = 0; i < plan.depth[block]; ++i) {
      const std::string name = fmt::format("features.denseblock{}.denselayer{}.", block + 1, i + 1);
      net.add(Concat{}, parts);
      norm(channels, name + "norm1");
      conv({channels, kBottleneck * plan.growth, 1}, name + "conv1");
      norm(kBottleneck * plan.growth, name + "norm2");
      conv({kBottleneck * plan.growth, plan.growth, 3, 1, 1}, name + "conv2");
      parts.push_back(net.last());
      channels += plan.growth;
    }
    net.add(Concat{}, parts);
    if (block + 1 == plan.depth.size()) break;
    const std::string name = fmt::format("features.transition{}.", block + 1);
    norm(channels, name + "norm");
    conv({channels, channels / 2, 1}, name + "conv");
    channels /= 2;
    net.then(WindowPool{2});
  }
  norm(channels, "features.norm5");
  net.then(AveragePool{1});
  net.then(Flatten{});
  return {std::move(net), channels, {"classifier", "classifier"}};
}

}  // namespace tributary

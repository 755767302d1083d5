// RegNet-Y.
#include <fmt/format.h>

#include <cmath>

#include "tributary/model/backbone.h"
#include "tributary/model/conv_blocks.h"

namespace tributary {

Backbone make_regnet(const RegNetPlan& plan, const Init& init) {
  constexpr int64_t kStem = 32, kSqueeze = 4;
  Network net;
  uint64_t number = 0;
  // A convolution and its BatchNorm of the value `input`.
  const auto conv = [&](int input, ConvShape shape, const std::string& torchvision, const std::string& timm) {
    shape.bias = false;
    net.add(Conv2d(shape, Start::kFanOut, child(init, number++)), {input}, {torchvision + ".0", timm + ".conv"});
    return net.then(BatchNorm(shape.out), {torchvision + ".1", timm + ".bn"});
  };
  conv(0, {3, kStem, 3, 2, 1}, "stem", "stem");
  net.then(Relu{});
  int64_t in = kStem;
  for (size_t stage = 0; stage < plan.depth.size(); ++stage) {
    const int64_t width = plan.width[stage];
    for (int64_t i = 0; i < plan.depth[stage]; ++i) {
      const std::string torchvision = fmt::format("trunk_output.block{0}.block{0}-{1}.", stage + 1, i);
      const std::string timm = fmt::format("s{}.b{}.", stage + 1, i + 1);
      const int64_t stride = i == 0 ? 2 : 1;
      const int input = net.last();
      const int shortcut =
          i > 0 ? input : conv(input, {in, width, 1, stride}, torchvision + "proj", timm + "downsample");
      conv(input, {in, width, 1}, torchvision + "f.a", timm + "conv1");
      net.then(Relu{});
      conv(net.last(), {width, width, 3, stride, 1, width / plan.group_width}, torchvision + "f.b", timm + "conv2");
      net.then(Relu{});
      const auto squeezed = static_cast<int64_t>(std::nearbyint(static_cast<double>(in) / kSqueeze));
      add_squeeze(net, {width, squeezed, {}, Activation::Function::kSigmoid},
                  {torchvision + "f.se.fc1", timm + "se.fc1"}, {torchvision + "f.se.fc2", timm + "se.fc2"},
                  child(init, number++));
      conv(net.last(), {width, width, 1}, torchvision + "f.c", timm + "conv3");
      net.add(Add{}, {shortcut, net.last()});
      net.then(Relu{});
      in = width;
    }
  }
  net.then(AveragePool{1});
  net.then(Flatten{});
  return {std::move(net), in, {"fc", "head.fc"}};
}

}  // namespace tributary

// VGG networks.
#include <algorithm>

#include "tributary/model/backbone.h"

namespace tributary {

// The features are the input of the last of torchvision's three linear layers.
Backbone make_vgg(const VggPlan& plan, const Init& init) {
  constexpr int64_t kHidden = 4096, kMap = 7;
  Network net;
  int index = 0;  // in torchvision's nn.Sequential `features`, which also counts pools and ReLUs
  uint64_t number = 0;
  int64_t channels = 3;
  const auto name = [&] { return "features." + std::to_string(index++); };
  for (size_t stage = 0; stage < plan.depth.size(); ++stage) {
    const int64_t out = std::min<int64_t>(int64_t{64} << stage, 512);
    for (int64_t i = 0; i < plan.depth[stage]; ++i) {
      net.then(Conv2d({channels, out, 3, 1, 1}, Start::kFanOut, child(init, number++)), name());
      channels = out;
      if (plan.batch_norm) net.then(BatchNorm(out), name());
      net.then(Relu{});
      ++index;
    }
    net.then(MaxPool{2, 2, 0});
    ++index;
  }
  net.then(AveragePool{kMap});
  net.then(Flatten{});
  int64_t in = channels * kMap * kMap;
  for (const char* linear : {"classifier.0", "classifier.3"}) {
    net.then(Linear(in, kHidden, Start::kSmall, child(init, number++)), linear);
    net.then(Relu{});
    net.then(Dropout{0.5, false});
    in = kHidden;
  }
  return {std::move(net), kHidden, {"classifier.6", "head.fc"}};
}

}  // namespace tributary

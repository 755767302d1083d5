// Backbones for 32x32 digits: `lenet` and `dtn`.
#include "tributary/model/backbone.h"

namespace tributary {

Backbone make_lenet(const Init& init) {
  Network net;
  net.then(Conv2d({3, 20, 5}, Start::kDefault, child(init, 0)), "conv1");
  net.then(MaxPool{2, 2, 0});
  net.then(Relu{});
  net.then(Conv2d({20, 50, 5}, Start::kDefault, child(init, 1)), "conv2");
  net.then(Dropout{0.5, true});
  net.then(MaxPool{2, 2, 0});
  net.then(Relu{});
  net.then(Flatten{});
  return {std::move(net), 1250};
}

Backbone make_dtn(const Init& init) {
  Network net;
  constexpr int64_t kChannels[] = {3, 64, 128, 256};
  constexpr double kDrop[] = {0.1, 0.3, 0.5};
  for (int i = 0; i < 3; ++i) {
    // Numbered like the research scripts' nn.Sequential of convolution, BatchNorm, dropout and ReLU.
    const auto name = [&](int index) { return "conv_params." + std::to_string(4 * i + index); };
    net.then(Conv2d({kChannels[i], kChannels[i + 1], 5, 2, 2}, Start::kDefault, child(init, i)), name(0));
    net.then(BatchNorm(kChannels[i + 1]), name(1));
    net.then(Dropout{kDrop[i], true});
    net.then(Relu{});
  }
  net.then(Flatten{});
  return {std::move(net), 4096};
}

}  // namespace tributary

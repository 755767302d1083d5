// Residual networks: ResNet and ResNeXt.
#include <fmt/format.h>

#include "tributary/model/backbone.h"

namespace tributary {
namespace {

// Builds one residual network with torchvision's tensor names.
class ResNetBuilder {
 public:
  ResNetBuilder(const ResNetPlan& plan, FirstStride first_stride, const Init& init)
      : plan_(plan), first_stride_(first_stride), init_(init) {}

  Backbone build() {
    conv({3, 64, 7, 2, 3}, "conv1");
    norm(64, "bn1");
    net_.then(Relu{});
    net_.then(MaxPool{3, 2, 1});
    int64_t channels = 64;
    for (int stage = 0; stage < 4; ++stage) {
      const int64_t planes = int64_t{64} << stage;
      const int64_t out = plan_.bottleneck_blocks ? 4 * planes : planes;
      for (int64_t block = 0; block < plan_.depth[stage]; ++block) {
        const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        residual(channels, planes, out, stride, fmt::format("layer{}.{}", stage + 1, block));
        channels = out;
      }
    }
    net_.then(AveragePool{1});
    net_.then(Flatten{});
    return {std::move(net_), channels};
  }

 private:
  void conv(ConvShape shape, const std::string& name) {
    shape.bias = false;
    net_.then(Conv2d(shape, Start::kFanOut, child(init_, number_++)), name);
  }
  void norm(int64_t channels, const std::string& name) { net_.then(BatchNorm(channels), name); }

  void residual(int64_t in, int64_t planes, int64_t out, int64_t stride, const std::string& name) {
    const int input = net_.last();
    if (plan_.bottleneck_blocks) {
      const int64_t width = planes * plan_.width_per_group / 64 * plan_.groups;
      const bool early = first_stride_ == FirstStride::kIn1x1;
      conv({in, width, 1, early ? stride : 1}, name + ".conv1");
      norm(width, name + ".bn1");
      net_.then(Relu{});
      conv({width, width, 3, early ? 1 : stride, 1, plan_.groups}, name + ".conv2");
      norm(width, name + ".bn2");
      net_.then(Relu{});
      conv({width, out, 1}, name + ".conv3");
      norm(out, name + ".bn3");
    } else {
      conv({in, out, 3, stride, 1}, name + ".conv1");
      norm(out, name + ".bn1");
      net_.then(Relu{});
      conv({out, out, 3, 1, 1}, name + ".conv2");
      norm(out, name + ".bn2");
    }
    const int branch = net_.last();
    int shortcut = input;
    if (stride != 1 || in != out) {
      Conv2d projection({in, out, 1, stride, 0, 1, false}, Start::kFanOut, child(init_, number_++));
      const int projected = net_.add(std::move(projection), {input}, name + ".downsample.0");
      shortcut = net_.add(BatchNorm(out), {projected}, name + ".downsample.1");
    }
    net_.add(Add{}, {branch, shortcut});
    net_.then(Relu{});
  }

  const ResNetPlan& plan_;
  FirstStride first_stride_;
  Init init_;
  uint64_t number_ = 0;
  Network net_;
};

}  // namespace

Backbone make_resnet(const ResNetPlan& plan, FirstStride first_stride, const Init& init) {
  return ResNetBuilder(plan, first_stride, init).build();
}

}  // namespace tributary

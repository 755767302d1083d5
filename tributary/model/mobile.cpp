// Networks of inverted residual blocks: MobileNet v2 and v3, EfficientNet and EfficientNet v2.
#include <fmt/format.h>

#include <cmath>

#include "tributary/model/backbone.h"
#include "tributary/model/conv_blocks.h"

namespace tributary {
namespace {

using Function = Activation::Function;

// Rounds a scaled number of channels to a multiple of eight, and never down by more than a tenth.
int64_t eights(double channels) {
  const auto rounded = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

class MobileBuilder {
 public:
  MobileBuilder(const MobilePlan& plan, const Init& init) : plan_(plan), init_(init) {}

  Backbone build() {
    conv({.in = 3, .out = plan_.stem, .kernel = 3, .stride = 2, .padding = 1}, {"features.0.0", "conv_stem"},
         {"features.0.1", "bn1"});
    add_activation(net_, plan_.activation);
    int64_t channels = plan_.stem;
    int number = 1;  // of the block, or of the stage in EfficientNet
    for (size_t stage = 0; stage < plan_.stages.size(); ++stage) {
      for (size_t i = 0; i < plan_.stages[stage].size(); ++i) {
        const MobileBlock& shape = plan_.stages[stage][i];
        const std::string torchvision =
            plan_.family == MobilePlan::Family::kEfficientNet ? fmt::format("features.{}.{}.block.", stage + 1, i)
            : plan_.family == MobilePlan::Family::kMobileNet3 ? fmt::format("features.{}.block.", number++)
                                                              : fmt::format("features.{}.conv.", number++);
        block(channels, shape, torchvision, fmt::format("blocks.{}.{}.", stage, i));
        channels = shape.out;
      }
    }
    const size_t last =
        plan_.family == MobilePlan::Family::kEfficientNet ? plan_.stages.size() + 1 : static_cast<size_t>(number);
    const bool v3 = plan_.family == MobilePlan::Family::kMobileNet3;
    const std::string at_end = fmt::format("blocks.{}.0.", plan_.stages.size());
    conv({.in = channels, .out = plan_.last, .kernel = 1},
         {fmt::format("features.{}.0", last), v3 ? at_end + "conv" : "conv_head"},
         {fmt::format("features.{}.1", last), v3 ? at_end + "bn1" : "bn2"});
    add_activation(net_, plan_.activation);
    net_.then(AveragePool{1});
    net_.then(Flatten{});
    if (!v3) return {std::move(net_), plan_.last, {"classifier.1", "classifier"}};
    net_.then(Linear(plan_.last, plan_.hidden, Start::kSmall, next()), {"classifier.0", "conv_head"});
    add_activation(net_, plan_.activation);
    return {std::move(net_), plan_.hidden, {"classifier.3", "classifier"}};
  }

 private:
  Init next() { return child(init_, number_++); }
  void conv(ConvShape shape, LayerName name, LayerName norm) {
    shape.bias = false;
    shape.same = plan_.same_padding;
    const int64_t out = shape.out;
    net_.then(Conv2d(shape, Start::kFanOut, next()), std::move(name));
    net_.then(BatchNorm(out, plan_.epsilon), std::move(norm));
  }

  // One convolution of a block, with its names: `index` in torchvision's block, a word and a number in timm's.
  void part(const ConvShape& shape, const std::string& torchvision, int index, const std::string& timm, int norm,
            bool flat = false) {
    const std::string name = torchvision + std::to_string(index);
    conv(shape, {flat ? name : name + ".0", timm},
         {flat ? torchvision + std::to_string(index + 1) : name + ".1",
          timm.substr(0, timm.rfind('.') + 1) + fmt::format("bn{}", norm)});
  }

  void block(int64_t in, const MobileBlock& shape, const std::string& torchvision, const std::string& timm) {
    const int input = net_.last();
    const bool v2 = plan_.family == MobilePlan::Family::kMobileNet2;
    const bool expands = shape.expanded != in;
    int index = 0;
    if (shape.fused) {
      const int64_t padding = shape.kernel / 2;
      part({in, expands ? shape.expanded : shape.out, shape.kernel, shape.stride, padding}, torchvision, 0,
           timm + (expands ? "conv_exp" : "conv"), 1);
      add_activation(net_, shape.activation);
      if (expands) part({shape.expanded, shape.out, 1}, torchvision, 1, timm + "conv_pwl", 2);
    } else {
      if (expands) {
        part({in, shape.expanded, 1}, torchvision, index++, timm + "conv_pw", 1);
        add_activation(net_, shape.activation);
      }
      part({shape.expanded, shape.expanded, shape.kernel, shape.stride, shape.kernel / 2, shape.expanded}, torchvision,
           index++, timm + "conv_dw", expands ? 2 : 1);
      add_activation(net_, shape.activation);
      if (shape.squeezed > 0) {
        const std::string name = torchvision + std::to_string(index++);
        const bool v3 = plan_.family == MobilePlan::Family::kMobileNet3;
        add_squeeze(net_,
                    {shape.expanded, shape.squeezed, v3 ? ActivationChoice() : shape.activation,
                     v3 ? Function::kHardsigmoid : Function::kSigmoid},
                    {name + ".fc1", timm + "se.conv_reduce"}, {name + ".fc2", timm + "se.conv_expand"}, next());
      }
      part({shape.expanded, shape.out, 1}, torchvision, index, timm + (expands ? "conv_pwl" : "conv_pw"),
           expands ? 3 : 2, v2);
    }
    if (shape.stride == 1 && in == shape.out) net_.add(Add{}, {input, net_.last()});
  }

  const MobilePlan& plan_;
  Init init_;
  uint64_t number_ = 0;
  Network net_;
};

}  // namespace

MobilePlan mobilenet_v2_plan() {
  MobilePlan plan{.family = MobilePlan::Family::kMobileNet2, .stem = 32, .last = 1280, .activation = Function::kRelu6};
  int64_t in = 32;
  constexpr int64_t kStages[][4] = {
      {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
      {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};  // expansion, channels, blocks, stride
  for (const auto& [expansion, out, blocks, stride] : kStages) {
    plan.stages.emplace_back();
    for (int64_t i = 0; i < blocks; ++i) {
      plan.stages.back().push_back({in * expansion, out, 3, i == 0 ? stride : 1, 0, Function::kRelu6});
      in = out;
    }
  }
  return plan;
}

MobilePlan mobilenet_v3_plan(bool large, double epsilon) {
  MobilePlan plan{.family = MobilePlan::Family::kMobileNet3,
                  .stem = 16,
                  .last = large ? 960 : 576,
                  .hidden = large ? 1280 : 1024,
                  .activation = Function::kHardswish,
                  .epsilon = epsilon};
  struct Row {
    size_t stage;
    int64_t kernel, expanded, out;
    bool squeezes, hard;  // hard swish instead of ReLU
    int64_t stride;
  };
  const std::vector<Row> rows =
      large ? std::vector<Row>{{0, 3, 16, 16, false, false, 1}, {1, 3, 64, 24, false, false, 2},
                               {1, 3, 72, 24, false, false, 1}, {2, 5, 72, 40, true, false, 2},
                               {2, 5, 120, 40, true, false, 1}, {2, 5, 120, 40, true, false, 1},
                               {3, 3, 240, 80, false, true, 2}, {3, 3, 200, 80, false, true, 1},
                               {3, 3, 184, 80, false, true, 1}, {3, 3, 184, 80, false, true, 1},
                               {4, 3, 480, 112, true, true, 1}, {4, 3, 672, 112, true, true, 1},
                               {5, 5, 672, 160, true, true, 2}, {5, 5, 960, 160, true, true, 1},
                               {5, 5, 960, 160, true, true, 1}}
            : std::vector<Row>{
                  {0, 3, 16, 16, true, false, 2}, {1, 3, 72, 24, false, false, 2}, {1, 3, 88, 24, false, false, 1},
                  {2, 5, 96, 40, true, true, 2},  {2, 5, 240, 40, true, true, 1},  {2, 5, 240, 40, true, true, 1},
                  {3, 5, 120, 48, true, true, 1}, {3, 5, 144, 48, true, true, 1},  {4, 5, 288, 96, true, true, 2},
                  {4, 5, 576, 96, true, true, 1}, {4, 5, 576, 96, true, true, 1}};
  for (const Row& row : rows) {
    plan.stages.resize(row.stage + 1);
    plan.stages.back().push_back({row.expanded, row.out, row.kernel, row.stride,
                                  row.squeezes ? eights(std::floor(static_cast<double>(row.expanded) / 4)) : 0,
                                  row.hard ? ActivationChoice(Function::kHardswish) : ActivationChoice()});
  }
  return plan;
}

MobilePlan efficientnet_plan(double width, double depth) {
  const auto scaled = [&](int64_t channels) { return eights(static_cast<double>(channels) * width); };
  MobilePlan plan{.stem = scaled(32), .last = 4 * scaled(320), .activation = Function::kSilu};
  constexpr int64_t kStages[][5] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                                    {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  int64_t in = plan.stem;
  for (const auto& [expansion, kernel, stride, channels, blocks] : kStages) {
    plan.stages.emplace_back();
    for (int64_t i = 0; i < static_cast<int64_t>(std::ceil(static_cast<double>(blocks) * depth)); ++i) {
      plan.stages.back().push_back(
          {in * expansion, scaled(channels), kernel, i == 0 ? stride : 1, in / 4, Function::kSilu});
      in = scaled(channels);
    }
  }
  return plan;
}

MobilePlan efficientnet_v2_s_plan() {
  MobilePlan plan{.stem = 24, .last = 1280, .activation = Function::kSilu, .epsilon = 1e-3};
  constexpr int64_t kStages[][5] = {{1, 1, 1, 24, 2},  {1, 4, 2, 48, 4},  {1, 4, 2, 64, 4},
                                    {0, 4, 2, 128, 6}, {0, 6, 1, 160, 9}, {0, 6, 2, 256, 15}};  // first: fused
  int64_t in = plan.stem;
  for (const auto& [fused, expansion, stride, out, blocks] : kStages) {
    plan.stages.emplace_back();
    for (int64_t i = 0; i < blocks; ++i) {
      plan.stages.back().push_back(
          {in * expansion, out, 3, i == 0 ? stride : 1, fused != 0 ? 0 : in / 4, Function::kSilu, fused != 0});
      in = out;
    }
  }
  return plan;
}

Backbone make_mobile(const MobilePlan& plan, const Init& init) {
  return MobileBuilder(plan, init).build();
}

}  // namespace tributary

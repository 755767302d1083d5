// Passes with recomputed activations compared with passes that store them, and the segments of known networks.
#include "tributary/model/recomputed_pass.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/model/ensemble_pass.h"
#include "tributary/model/layered_source.h"
#include "tributary/model/network_segments.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

struct TrainingPass {
  Tensor features;
  std::vector<Tensor> gradients;
  NamedTensors state;
};

// Features of `x` in training, the parameter gradients of a loss that depends on all rows at once, and the state
// afterwards.
TrainingPass training_pass(SourceModel& model, const Tensor& x) {
  DropoutStream dropout_stream(Random(3), torch::kCPU);
  const Tensor features = model.features(x, &dropout_stream);
  features.softmax(1).mean(0).square().sum().backward();
  TrainingPass result{features.detach(), {}, copy_of(model.state())};
  for (const NamedTensor& tensor : model.backbone_parameters()) result.gradients.push_back(tensor.value.grad());
  return result;
}

void expect_equal(const TrainingPass& recomputed, const TrainingPass& stored, const std::string& what) {
  EXPECT_TRUE(torch::equal(recomputed.features, stored.features)) << what;
  ASSERT_EQ(recomputed.gradients.size(), stored.gradients.size());
  for (size_t i = 0; i < stored.gradients.size(); ++i)
    EXPECT_TRUE(torch::equal(recomputed.gradients[i], stored.gradients[i])) << what << " gradient " << i;
  for (size_t i = 0; i < stored.state.size(); ++i)
    EXPECT_TRUE(torch::equal(recomputed.state[i].value, stored.state[i].value)) << what << stored.state[i].name;
}

TEST(RecomputedPass, EqualsAPassThatStoresActivations) {
  const Tensor x = test::normals({4, 3, 32, 32}, 5);
  for (const std::string architecture :
       {"lenet", "dtn", "resnet18", "mobilenet_v2", "densenet121", "convnext_tiny", "efficientnet_b0"}) {
    SourceModel stored(test::small_info(architecture), Random(1)),
        recomputed(test::small_info(architecture), Random(1));
    set_memory(recomputed, {Recompute::kAll});
    expect_equal(training_pass(recomputed, x), training_pass(stored, x), architecture);
  }
}

TEST(RecomputedPass, MayStoreTheActivationsOfLaterSegments) {
  const Tensor x = test::normals({4, 3, 32, 32}, 5);
  for (const int64_t segments : {1, 2}) {
    SourceModel stored(test::small_info("resnet18"), Random(1)), recomputed(test::small_info("resnet18"), Random(1));
    set_memory(recomputed, {Recompute::kAll, 0, segments});
    EXPECT_GT(recomputed.layered()->segments(), 2);
    expect_equal(training_pass(recomputed, x), training_pass(stored, x), std::to_string(segments));
  }
}

TEST(RecomputedPass, GivesTheGradientOfItsInput) {
  const auto gradient = [](bool again) {
    Tensor x = test::normals({5, 3}, 2).requires_grad_();
    Tensor weight = test::normals({3, 3}, 4).requires_grad_();
    DropoutStream dropout_stream(Random(3), torch::kCPU);
    const PassForward forward = [&](const Tensor& value, DropoutStream* own, bool) {
      return dropout(value.matmul(weight).tanh(), 0.5, own);
    };
    const Tensor y = again ? recomputed(x, dropout_stream, forward) : forward(x, &dropout_stream, false);
    y.square().sum().backward();
    return std::pair(x.grad(), weight.grad());
  };
  const auto [x, weight] = gradient(true);
  const auto [expected_x, expected_weight] = gradient(false);
  EXPECT_TRUE(torch::equal(x, expected_x));
  EXPECT_TRUE(torch::equal(weight, expected_weight));
}

TEST(RecomputedPass, StoresNoActivations) {
  DropoutStream dropout_stream(Random(3), torch::kCPU);
  Tensor weight = torch::ones({3}).requires_grad_();
  std::weak_ptr<int> alive;
  int passes = 0;
  // An autograd node that keeps an object alive as long as the graph of the pass exists.
  const PassForward forward = [&](const Tensor& x, DropoutStream*, bool) {
    ++passes;
    const auto held = std::make_shared<int>(0);
    alive = held;
    const Tensor y = x * weight;
    if (y.requires_grad()) y.register_hook([held](const Tensor& gradient) { return gradient; });
    return y;
  };
  const Tensor y = recomputed(torch::ones({2, 3}), dropout_stream, forward);
  EXPECT_EQ(passes, 1);
  EXPECT_TRUE(alive.expired());
  y.sum().backward();
  EXPECT_EQ(passes, 2);
  EXPECT_TRUE(torch::equal(weight.grad(), torch::full({3}, 2.0F)));
}

TEST(RecomputedPass, StoresThePassesThatArePropagatedBackAtOnce) {
  SourceModel model(test::small_info("dtn"), Random(1));
  const Tensor x = test::normals({4, 3, 32, 32}, 5);
  const auto recomputes = [&] {
    DropoutStream dropout_stream(Random(3), torch::kCPU);
    const Tensor features = model.layered()->backbone_features(x, &dropout_stream);
    return features.grad_fn()->name().find("Recomputed") != std::string::npos;
  };
  EXPECT_FALSE(recomputes());
  set_memory(model, {Recompute::kWaiting});
  EXPECT_TRUE(recomputes());
  {
    const LayeredSource::PromptPasses prompt(*model.layered());
    EXPECT_FALSE(recomputes());
    set_memory(model, {Recompute::kAll});
    EXPECT_TRUE(recomputes());
  }
}

TEST(RecomputedPass, LeavesFrozenLayersWithoutGradients) {
  SourceModel model(test::small_info("dtn"), Random(1));
  for (NamedTensor& tensor : model.backbone_parameters()) tensor.value.set_requires_grad(false);
  set_memory(model, {Recompute::kAll});
  DropoutStream dropout_stream(Random(3), torch::kCPU);
  model.features(test::normals({4, 3, 32, 32}, 5), &dropout_stream).sum().backward();
  for (const NamedTensor& tensor : model.backbone_parameters()) EXPECT_FALSE(tensor.value.grad().defined());
  for (const NamedTensor& tensor : model.bottleneck_parameters()) EXPECT_TRUE(tensor.value.grad().defined());
}

TEST(RecomputedPass, RunsSourcesOneAfterTheOtherIfAllPassesAreRecomputed) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn", "lenet"});
  EXPECT_EQ(branch_count(ensemble), 3);
  for (SourceModel& source : ensemble.sources) set_memory(source, {Recompute::kWaiting});
  EXPECT_EQ(branch_count(ensemble), 3);
  for (SourceModel& source : ensemble.sources) set_memory(source, {Recompute::kAll});
  EXPECT_EQ(branch_count(ensemble), 1);
}

// conv - relu - conv, twice, each with a shortcut around it.
TEST(NetworkSegments, EndWhereOneValueIsLeft) {
  Network network;
  const auto conv = [](int64_t in) { return Conv2d({in, 8, 3, 1, 1}, Start::kDefault, Random(1)); };
  network.then(conv(3), "stem");
  for (int block = 0; block < 2; ++block) {
    const int shortcut = network.last();
    network.then(conv(8), "a");
    network.then(Relu{});
    network.then(conv(8), "b");
    network.add(Add{}, {network.last(), shortcut});
  }
  for (const LayerRange& range : segments_of(network, 8)) {
    EXPECT_TRUE(range.begin == 0 || range.begin == 1 || range.begin == 5) << range.begin;
    EXPECT_TRUE(range.end == 1 || range.end == 5 || range.end == 9) << range.end;
  }
}

TEST(NetworkSegments, CoverEveryLayerOnce) {
  for (const std::string architecture : {"resnet50", "vgg16", "densenet121", "vit_b_16", "swin_t", "regnet_y_400mf"}) {
    const Backbone backbone = make_backbone(architecture, FirstStride::kIn3x3, std::nullopt, 224);
    const std::vector<LayerRange> segments = segments_of(backbone.network, 224);
    EXPECT_GT(segments.size(), 2) << architecture;
    int begin = 0;
    for (const LayerRange& range : segments) {
      EXPECT_EQ(range.begin, begin) << architecture;
      EXPECT_GT(range.end, range.begin) << architecture;
      begin = range.end;
    }
    EXPECT_EQ(begin, backbone.network.last()) << architecture;
  }
}

}  // namespace
}  // namespace tributary

#include "tributary/train/trained_layers.h"

#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

SourceModel small_source(const std::string& architecture) {
  ModelInfo info = test::small_info(architecture, 3, 8);
  info.preprocessing = {32, 32};
  return {info, Init()};
}

TEST(TrainedLayers, NormTrainsNormalisationOnly) {
  for (const std::string name : {"vit_ti_16", "resnet18"}) {
    const SourceModel source = small_source(name);
    const NamedTensors all = source.backbone_parameters(), trained = trained_backbone(source, {"norm"});
    EXPECT_EQ(trained.size(), name == "resnet18" ? 40u : 50u);  // 20 and 25 layers with weight and bias
    size_t frozen = 0;
    for (const NamedTensor& parameter : all) frozen += !parameter.value.requires_grad();
    EXPECT_EQ(frozen, all.size() - trained.size());
  }
}

TEST(TrainedLayers, LastTrainsTheLastBranches) {
  const SourceModel source = small_source("vit_ti_16");
  const NamedTensors trained = trained_backbone(source, {"last-2"});  // a block and the last LayerNorm
  ASSERT_EQ(trained.size(), 14u);
  EXPECT_EQ(trained.front().name, "backbone.encoder.layers.encoder_layer_11.ln_1.weight");
  EXPECT_EQ(trained.back().name, "backbone.encoder.ln.bias");
}

TEST(TrainedLayers, BadRulesAreRefused) {
  const SourceModel source = small_source("vit_ti_16");
  for (const std::string rule : {"some", "last-", "last-0", "last-x", "last--1"})
    EXPECT_THROW(trained_backbone(source, {rule}), InputError) << rule;
  EXPECT_THROW(trained_backbone(SourceModel(test::small_info("lenet"), Init()), {"norm"}), InputError);
}

TEST(TrainedLayers, NetworksWithoutBatchNormAreClipped) {
  EXPECT_EQ(clip_of(small_source("vit_ti_16"), -1), 1);
  EXPECT_EQ(clip_of(small_source("resnet18"), -1), 0);
  EXPECT_EQ(clip_of(SourceModel(test::small_info("lenet"), Init()), -1), 0);
  EXPECT_EQ(clip_of(small_source("resnet18"), 5), 5);
}

TEST(Sgd, ClipsTheNormOfAGroup) {
  const auto stepped = [](double clip, double slope) {
    const Tensor value = torch::zeros({4}).requires_grad_();
    Sgd optimiser({{{{"x", value}}, 1, clip}}, {0, 0, false});
    value.mutable_grad() = torch::full({4}, slope);
    optimiser.step(1.0);
    return value.detach().norm().item<double>();
  };
  EXPECT_NEAR(stepped(1, 10), 1, 1e-5);
  EXPECT_NEAR(stepped(1, 0.1), 0.2, 1e-6);
  EXPECT_NEAR(stepped(0, 10), 20, 1e-4);
}

}  // namespace
}  // namespace tributary

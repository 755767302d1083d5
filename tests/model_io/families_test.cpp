// Networks other than residual ones give torchvision's logits and gradients, whatever library's names their file has.
// DINOv2, CLIP and ConvNeXt v2, which torchvision lacks, are in published_networks.py.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/io/dialects.h"
#include "tributary/io/weight_names.h"
#include "tributary/model/layered_source.h"
#include "tributary/model_io/export.h"
#include "tributary/model_io/fit_tensor.h"
#include "tributary/model_io/model_file.h"

namespace tributary {
namespace {

struct FamilyRow {
  std::string network, names = "torchvision";
  bool gradients = false;
  std::string prefix{}, wrapper{};
  std::string architecture{};  // the one that is recognised; empty: that of torchvision's constructor
  int64_t size = 64;

  std::string name() const { return network + "_" + names; }
  std::string argument() const {
    return fmt::format("network={};names={};size={};gradients={};prefix={};wrapper={}", network, names, size,
                       gradients ? 1 : 0, prefix, wrapper);
  }
};

const std::vector<FamilyRow>& family_rows() {
  static const std::vector<FamilyRow> rows = {
      {"vit_ti_16", "torchvision", true},
      {"vit_ti_16", "timm", false, "module.model."},
      {"vit_ti_16", "huggingface"},
      {"vit_ti_16_resized", "timm", false, "", "", "vit_ti_16", 96},
      {"vit_ti_16_resized", "huggingface", false, "", "", "vit_ti_16", 96},
      {"convnext_tiny", "torchvision", true},
      {"convnext_tiny", "timm", false, "model."},
      {"convnext_tiny", "huggingface"},
      {"convnext_tiny", "authors", false, "", "model_ema"},
      {"swin_t", "torchvision", true},
      {"swin_t", "timm", false, "ema_model.module."},
      {"swin_t", "huggingface"},
      {"swin_t", "authors"},
      {"swin_v2_t", "torchvision", true},
      {"swin_v2_t", "timm"},
      {"swin_v2_t", "huggingface"},
      {"swin_v2_t_window16"},
      {"dinov2", "huggingface", false, "", "", "vit_ti_14_ls_both", 56},
      {"dinov2", "authors", false, "", "", "vit_ti_14_ls_both", 56},
      {"dinov2_reg", "huggingface", false, "", "", "vit_ti_14_ls_reg_both", 56},
      {"dinov2_reg", "timm", false, "model.", "", "vit_ti_14_ls_reg_both", 56},
      {"clip", "timm", false, "", "", "vit_ti_16_clip"},
      {"clip_raw", "huggingface", false, "", "", "vit_ti_16_clip_raw"},
      {"convnextv2_tiny", "timm"},
      {"convnextv2_tiny", "huggingface"},
      {"mobilenet_v2"},
      {"mobilenet_v2", "timm"},
      {"mobilenet_v3_small"},
      {"mobilenet_v3_large"},
      {"efficientnet_b0"},
      {"efficientnet_b0", "timm", false, "", "state_dict_ema"},
      {"efficientnet_v2_s"},
      {"efficientnet_v2_s", "timm"},
      {"densenet121"},
      {"regnet_y_400mf"},
      {"regnet_y_400mf", "timm"},
      {"regnety_008", "timm"},
      {"wide_resnet50_2"},
  };
  return rows;
}

double largest_of(const Tensor& values) {
  return values.abs().max().item<double>();
}

// Gradients of all of the backbone's parameters in a training step.
void expect_same_gradients(SourceModel& source, const SafetensorsFile& expected, const std::string& file) {
  const auto value = [&](const std::string& name) { return tensor_of(expected.at(name), file); };
  DropoutStream stream(Random(1), torch::kCPU);
  const Tensor logits = source.classify(source.features(value("x"), &stream));
  (logits * value("factor")).sum().backward();
  for (const NamedTensor& parameter : source.backbone_parameters()) {
    const Tensor theirs = value("grad." + parameter.name.substr(std::string("backbone.").size()));
    const double scale = std::max(largest_of(theirs), 1e-4);
    ASSERT_TRUE(parameter.value.grad().defined()) << parameter.name;
    EXPECT_LT(largest_of(parameter.value.grad() - theirs), 1e-4 * scale) << parameter.name;
  }
}

TEST(Families, LogitsAndGradientsMatchTorchvision) {
  const std::optional<std::string> python = test::python_with("torchvision");
  if (!python) GTEST_SKIP() << "skipped: no python3-torchvision";
  const test::TempDir folder;
  std::vector<std::string> arguments = {folder.path()};
  for (const FamilyRow& row : family_rows()) arguments.push_back(row.argument());
  ASSERT_TRUE(test::run_python(*python, "tests/model_io/families_reference.py", arguments));
  for (const FamilyRow& row : family_rows()) {
    SCOPED_TRACE(row.name());
    ImportOptions options;
    options.size = options.resize = row.size;
    if (row.name() == "clip_timm") options.architecture = row.architecture;  // tensors do not tell the activation
    SourceModel source = import_source(folder / (row.name() + ".pt"), options);
    EXPECT_EQ(source.info().architecture, row.architecture.empty() ? row.network : row.architecture);
    const std::string file = folder / (row.network + ".safetensors");
    const SafetensorsFile expected = SafetensorsFile::read(file);
    const Tensor logits = tensor_of(expected.at("logits"), file);
    {
      torch::NoGradGuard no_grad;
      Tensor x = tensor_of(expected.at("x"), file);
      if (!source.layered()->network().batch_norms().empty()) {
        x = x.to(torch::kFloat64);
        for (NamedTensor& tensor : source.state())
          if (tensor.value.is_floating_point()) tensor.value.set_data(tensor.value.detach().to(torch::kFloat64));
      }
      EXPECT_TENSOR_NEAR(source.classify(source.features(x)).to(torch::kFloat32), logits, 1e-5 * largest_of(logits));
    }
    if (row.gradients) expect_same_gradients(source, expected, file);
  }
}

TEST(Dialects, TranslateToTimm) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"vit.encoder.layer.11.attention.output.dense.bias", "blocks.11.attn.proj.bias"},
      {"dinov2.encoder.layer.3.layer_scale2.lambda1", "blocks.3.ls2.gamma"},
      {"dinov2.encoder.layer.3.mlp.fc1.weight", "blocks.3.mlp.fc1.weight"},
      {"dinov2.embeddings.mask_token", ""},
      {"register_tokens", "reg_token"},
      {"blocks.0.norm1.weight", "blocks.0.norm1.weight"},
      {"encoder.layers.encoder_layer_2.mlp.linear_2.bias", "encoder.layers.encoder_layer_2.mlp.3.bias"},
      {"features.denseblock1.denselayer2.norm.1.weight", "features.denseblock1.denselayer2.norm1.weight"},
  };
  for (const auto& [theirs, timm] : table) EXPECT_EQ(translate_names({theirs})[0].name, timm);
  const std::vector<TranslatedName> swin =
      translate_names({"layers.0.downsample.norm.weight", "layers.1.downsample.norm.bias"});
  EXPECT_EQ(swin[0].name, "layers.1.downsample.norm.weight");
  EXPECT_EQ(swin[1].name, "layers.2.downsample.norm.bias");
  const std::vector<TranslatedName> large = translate_names(
      {"layers.0.downsample.a", "layers.2147483647.downsample.a", "layers.99999999999999999999.downsample.a"});
  EXPECT_EQ(large[0].name, "layers.1.downsample.a");
  EXPECT_EQ(large[1].name, "layers.2147483647.downsample.a");
  EXPECT_EQ(large[2].name, "layers.99999999999999999999.downsample.a");
  const std::vector<TranslatedName> clip =
      translate_names({"visual.conv1.weight", "visual.transformer.resblocks.0.attn.in_proj_bias", "visual.proj",
                       "transformer.resblocks.0.attn.in_proj_bias", "visual.ln_post.weight"});
  EXPECT_EQ(clip[0].name, "patch_embed.proj.weight");
  EXPECT_EQ(clip[1].name, "blocks.0.attn.qkv.bias");
  EXPECT_EQ(clip[2].name, "");
  EXPECT_EQ(clip[3].name, "");
  EXPECT_EQ(clip[4].name, "norm.weight");
  EXPECT_EQ(translate_names({"vision_model.encoder.layers.1.self_attn.k_proj.bias"})[0].part, 1);
}

TEST(TensorNames, LoseManyPrefixesInLinearTime) {
  std::string prefixes;
  for (int i = 0; i < 1'000'000; ++i) prefixes += i % 2 == 0 ? "module." : "_orig_mod.";
  EXPECT_EQ(without_wrapper_prefixes({prefixes + "a", prefixes + "b"}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(without_wrapper_prefixes({"module.model.a", "module.b"}), (std::vector<std::string>{"model.a", "b"}));
  EXPECT_EQ(without_wrapper_prefixes({"model.", "model.a"}), (std::vector<std::string>{"", "a"}));
}

TEST(VitNames, RoundTrip) {
  for (const std::string name : {"vit_s_16", "vit_l_14_ls_reg", "vit_b_32_clip", "vit_b_16_mean", "vit_s_8_gap",
                                 "vit_b_16_prenorm", "vit_b_14_ls_both", "vit_b_32_clip_raw"})
    EXPECT_EQ(vit_name(vit_plan(name).value()), name);
  EXPECT_FALSE(vit_plan("vit_b_17"));
  EXPECT_FALSE(vit_plan("vit_x_16"));
  EXPECT_FALSE(vit_plan("vit_b_16_red"));
  EXPECT_FALSE(vit_plan("resnet18"));
}

// A model file of a small transformer; positions of another size are interpolated when weights are imported.
TEST(Families, ModelFilesRoundTrip) {
  const test::TempDir folder;
  for (const std::string name :
       {"vit_ti_16", "vit_s_14_ls_reg", "convnextv2_tiny", "swin_v2_t", "mobilenetv3_small_100"}) {
    ModelInfo info = test::small_info(name, 5, 24);
    info.preprocessing = {56, 56};
    if (name == "vit_ti_16") info.preprocessing = {64, 64};
    SourceModel source(info, Random(3));
    save_source(folder / "model.safetensors", source);
    SourceModel read = load_source(folder / "model.safetensors");
    const Tensor x = test::normals({2, 3, info.preprocessing.size, info.preprocessing.size}, 4);
    torch::NoGradGuard no_grad;
    EXPECT_TENSOR_EQ(read.features(x), source.features(x));
  }
}

TEST(Families, TimmConfigGivesThePreprocessing) {
  const test::TempDir folder;
  ModelInfo info = test::small_info("vit_ti_16", 5);
  info.bottleneck = false;
  info.feature_width = 192;
  info.classifier = ClassifierKind::kLinear;
  info.preprocessing = {64, 64};
  Ensemble ensemble;
  ensemble.sources.emplace_back(info, Random(3));
  export_state_dict(folder / "model.pt", ensemble);
  const auto config = [&](const std::string& text) { write_file_atomically(folder / "config.json", text); };
  std::vector<std::string> notices;
  load_sources({folder / "model.pt"}, {}, &notices);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices[0], ::testing::HasSubstr("assumed 64x64 pixels out of 73x73, mean 0.485,0.456,0.406"));
  config(R"({"architecture": "vit_tiny_patch16_64", "pretrained_cfg": {"input_size": [3, 32, 32], "crop_pct": 0.9,
            "interpolation": "bicubic", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.25]}})");
  notices.clear();
  const Ensemble read = load_sources({folder / "model.pt"}, {}, &notices);
  EXPECT_TRUE(notices.empty());
  const ModelInfo& known = read.sources[0].info();
  EXPECT_EQ(known.preprocessing, (Preprocessing{32, 35, true, true}));
  EXPECT_EQ(known.normalisation, (Normalisation{{0.5, 0.5, 0.5}, {0.5, 0.5, 0.25}}));
  ImportOptions given;
  given.size = 64;
  given.mean = "0.1,0.2,0.3";
  EXPECT_EQ(load_source(folder / "model.pt", given).info().preprocessing.size, 64);
  EXPECT_EQ(load_source(folder / "model.pt", given).info().normalisation.mean[1], 0.2);
  config(R"({"pretrained_cfg": {"mean": [0.5]}})");
  EXPECT_THROW(load_source(folder / "model.pt"), InputError);
  config(R"({"pretrained_cfg": {"crop_pct": -1}})");
  EXPECT_THROW(load_source(folder / "model.pt"), InputError);
  // A model file, as a run ends with, allows no side above 4096.
  config(R"({"pretrained_cfg": {"input_size": [3, 64, 64], "crop_pct": 0.12}})");
  EXPECT_EQ(load_source(folder / "model.pt").info().preprocessing.resize, 533);
  config(R"({"pretrained_cfg": {"input_size": [3, 1024, 1024], "crop_pct": 0.12}})");
  EXPECT_THROW(load_source(folder / "model.pt"), InputError);
  config("{\"pretrained_cfg\": {}, \"a\": [" + std::string(1 << 20, ' ') + "]}");
  EXPECT_THROW(load_source(folder / "model.pt"), InputError);
  config(R"({"pretrained_cfg": {"input_size": [3, 32.5, 32.5]}})");
  EXPECT_THROW(load_source(folder / "model.pt"), InputError);
}

TEST(Families, UnknownNetworksNameTheNearest) {
  const test::TempDir folder;
  const auto model = [&](int64_t width) {
    Backbone backbone = make_backbone("mobilenet_v2", FirstStride::kIn3x3, Random(1));
    std::vector<TensorEntry> entries;
    NamedTensors tensors = backbone.network.tensors().parameters;
    for (size_t i = 0; i < tensors.size(); ++i)
      if (i % 3 == 0) tensors[i].value = torch::zeros({width, 3});
    for (const NamedTensor& tensor : tensors)
      entries.push_back({tensor.name,
                         DType::F32,
                         tensor.value.sizes().vec(),
                         {static_cast<const uint8_t*>(tensor.value.data_ptr()), tensor.value.nbytes()}});
    write_safetensors(folder / "odd.safetensors", entries, {});
  };
  model(7);
  try {
    load_source(folder / "odd.safetensors");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the nearest is mobilenet_v2, which does not have features."));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("TorchScript"));
  }
}

TEST(FittedTensor, InterpolatesPositionsAndKeepsTheClassToken) {
  const Tensor needed = torch::zeros({1, 17, 3});
  const Tensor from = test::normals({1, 26, 3}, 1);
  const Tensor to = fitted(from, needed, "backbone.encoder.pos_embedding");
  ASSERT_EQ(to.sizes(), needed.sizes());
  EXPECT_TENSOR_EQ(to.narrow(1, 0, 1), from.narrow(1, 0, 1));
  // A constant grid stays constant; without a class token, its position is zero.
  const Tensor constant = fitted(torch::ones({1, 25, 3}), needed, "backbone.encoder.pos_embedding");
  EXPECT_TENSOR_NEAR(constant.narrow(1, 1, 16), torch::ones({1, 16, 3}), 1e-6);
  EXPECT_TENSOR_EQ(constant.narrow(1, 0, 1), torch::zeros({1, 1, 3}));
  EXPECT_FALSE(fitted(torch::ones({1, 24, 3}), needed, "backbone.encoder.pos_embedding").defined());
  EXPECT_TENSOR_EQ(fitted(torch::ones({4}), torch::zeros({4, 1, 1}), "x"), torch::ones({4, 1, 1}));
  EXPECT_FALSE(fitted(torch::ones({4}), torch::zeros({2, 2}), "x").defined());
}

}  // namespace
}  // namespace tributary

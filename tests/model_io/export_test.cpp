// Exported models give our probabilities in other runtimes: ONNX Runtime for Node, PyTorch, torchvision.
#include "tributary/model_io/export.h"

#include <gmock/gmock.h>
#include <torch/script.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/models.h"
#include "tests/support/node.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/model/layered_source.h"
#include "tributary/model_io/model_file.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

using test::TempDir;

constexpr int64_t kPictures = 3;

// Untrained sources with random running statistics.
Ensemble ensemble_of(const std::vector<std::string>& architectures, int size, int64_t classes = 5) {
  Ensemble ensemble;
  uint64_t seed = 1;
  for (const std::string& name : architectures) {
    ModelInfo info = test::small_info(name, classes, 24);
    info.name = name + std::to_string(seed);
    info.preprocessing = {size, size};
    ensemble.sources.emplace_back(info, Random(seed++));
    for (const NamedTensor& tensor : ensemble.sources.back().state()) {
      if (tensor.name.ends_with("running_mean")) tensor.value.copy_(0.1 * test::normals(tensor.value.sizes(), seed));
      if (tensor.name.ends_with("running_var")) tensor.value.uniform_(0.5, 1.5);
    }
  }
  return ensemble;
}

ImageSet pictures(int size) {
  ImageSet set = test::noise_pictures(kPictures);
  set.height = set.width = size;
  set.pixels.resize(static_cast<size_t>(kPictures * set.picture_bytes()));
  Random random(3);
  for (uint8_t& value : set.pixels) value = static_cast<uint8_t>(random.below(256));
  return set;
}

Tensor our_probabilities(Ensemble& ensemble, const ImageSet& set) {
  return combine(evaluate_logits(ensemble, DeviceImages(set, torch::kCPU)), ensemble.mixture);
}

std::string shape_text(const ImageSet& set) {
  return fmt::format("{}x{}x{}x3", set.size(), set.height, set.width);
}

Tensor floats_in(const std::string& path, int64_t classes) {
  const std::vector<uint8_t> bytes = read_file(path);
  Tensor values = torch::empty({static_cast<int64_t>(bytes.size() / sizeof(float))});
  std::memcpy(values.data_ptr(), bytes.data(), bytes.size());
  return values.view({-1, classes});
}

// The probabilities that ONNX Runtime computes for the exported ensemble.
Tensor run_onnx(const test::Node& node, const Ensemble& ensemble, const ImageSet& set) {
  const TempDir folder;
  export_onnx(folder / "model.onnx", ensemble);
  write_file_atomically(folder / "in", set.pixels);
  const auto printed = test::run_node(node, "tests/node/run_onnx.js",
                                      {folder / "model.onnx", shape_text(set), "uint8", folder / "in", folder / "out"});
  if (!printed) return {};
  return floats_in(folder / "out", static_cast<int64_t>(ensemble.classes().size()));
}

Tensor run_python_model(const std::string& python, const std::string& kind, const std::string& model,
                        const ImageSet& set, int64_t classes) {
  const TempDir folder;
  write_file_atomically(folder / "in", set.pixels);
  if (!test::run_python(python, "tests/model_io/export_reference.py",
                        {kind, model, shape_text(set), folder / "in", folder / "out"}))
    return {};
  return floats_in(folder / "out", classes);
}

// Every rule, the first and the last at temperature 1.
std::vector<Mixture> all_mixtures(int64_t sources) {
  std::vector<Mixture> mixtures;
  for (const auto& [name, rule] : combination_names())
    mixtures.push_back({rule, (torch::arange(sources) + 1).to(torch::kFloat32) / static_cast<double>(sources), 2.5});
  mixtures.front().temperature = mixtures.back().temperature = 1;
  return mixtures;
}

TEST(ExportOnnx, EveryMixtureRuleMatchesInOnnxRuntime) {
  const auto node = test::node_with();
  if (!node) GTEST_SKIP() << test::kNoOnnxRuntime;
  Ensemble ensemble = ensemble_of({"lenet", "dtn", "lenet"}, 32);
  ensemble.sources[1].rename("other");
  const ImageSet set = pictures(32);
  for (const Mixture& mixture : all_mixtures(3)) {
    ensemble.mixture = mixture;
    EXPECT_TENSOR_NEAR(run_onnx(*node, ensemble, set), our_probabilities(ensemble, set), 1e-4);
  }
}

// Three sources that know four, three and three of five classes; two outputs of the second are merged.
Ensemble ensemble_of_class_sets() {
  Ensemble ensemble = ensemble_of({"lenet", "dtn", "lenet"}, 32, 4);
  const std::vector<std::string> classes = {"a", "b", "c", "d", "e"};
  ensemble.sources[0].set_classes(classes, {0, 1, 2, 3});
  ensemble.sources[1].set_classes(classes, {4, 2, 4, 1});
  ensemble.sources[2].set_classes(classes, {3, 0, 1, 1});
  ensemble.sources[2].rename("other");
  return ensemble;
}

TEST(ExportOnnx, ClassSetsMatchInOnnxRuntime) {
  const auto node = test::node_with();
  if (!node) GTEST_SKIP() << test::kNoOnnxRuntime;
  Ensemble ensemble = ensemble_of_class_sets();
  const ImageSet set = pictures(32);
  for (const Mixture& mixture : all_mixtures(3)) {
    ensemble.mixture = mixture;
    EXPECT_TENSOR_NEAR(run_onnx(*node, ensemble, set), our_probabilities(ensemble, set), 1e-4);
  }
}

TEST(ExportTorchScript, ClassSetsMatch) {
  const TempDir folder;
  Ensemble ensemble = ensemble_of_class_sets();
  const ImageSet set = pictures(32);
  for (const Mixture& mixture : all_mixtures(3)) {
    ensemble.mixture = mixture;
    export_torchscript(folder / "model.pt", ensemble);
    torch::jit::Module module = torch::jit::load(folder / "model.pt");
    const Tensor pixels =
        torch::from_blob(const_cast<uint8_t*>(set.pixels.data()), {kPictures, 32, 32, 3}, torch::kUInt8);
    EXPECT_TENSOR_NEAR(module.forward({pixels}).toTensor(), our_probabilities(ensemble, set), 1e-4);
  }
  EXPECT_THAT(test::message_of<InputError>([&] { export_state_dict(folder / "model.pth", ensemble); }),
              ::testing::HasSubstr("merges or lacks classes, which a state dictionary cannot say"));
}

// Small pictures keep large networks fast.
TEST(ExportOnnx, ResidualNetworksMatchInOnnxRuntime) {
  const auto node = test::node_with();
  if (!node) GTEST_SKIP() << test::kNoOnnxRuntime;
  for (const std::string name : {"resnet18", "resnet50", "resnext50_32x4d"}) {
    Ensemble ensemble = ensemble_of({name}, 64);
    const ImageSet set = pictures(64);
    EXPECT_TENSOR_NEAR(run_onnx(*node, ensemble, set), our_probabilities(ensemble, set), 1e-4);
  }
}

TEST(ExportOnnx, VggAdaptivePoolingMatchesInOnnxRuntimeAndTorchScript) {
  const auto node = test::node_with();
  if (!node) GTEST_SKIP() << test::kNoOnnxRuntime;
  Ensemble ensemble = ensemble_of({"vgg16"}, 96);  // pools a 3x3 map to 7x7
  const ImageSet set = pictures(96);
  const Tensor ours = our_probabilities(ensemble, set);
  EXPECT_TENSOR_NEAR(run_onnx(*node, ensemble, set), ours, 1e-4);
  const TempDir folder;
  export_torchscript(folder / "model.pt", ensemble);
  const Tensor pixels =
      torch::from_blob(const_cast<uint8_t*>(set.pixels.data()), {kPictures, 96, 96, 3}, torch::kUInt8);
  EXPECT_TENSOR_NEAR(torch::jit::load(folder / "model.pt").forward({pixels}).toTensor(), ours, 1e-4);
}

// Scales and biases that start at zero or one would hide mistakes.
void randomise(Ensemble& ensemble) {
  torch::NoGradGuard no_grad;
  uint64_t seed = 50;
  for (const SourceModel& source : ensemble.sources)
    for (const NamedTensor& tensor : source.backbone_parameters())
      if (tensor.value.dim() == 1 || tensor.name.ends_with("layer_scale"))
        tensor.value.add_(0.3 * test::normals(tensor.value.sizes(), ++seed));
  // With running statistics that do not fit them, activations grow to 1e6 over the 40 blocks of EfficientNet v2. Its
  // sigmoids then switch on rounding errors: PyTorch's own logits in float32 and float64 differ by a third.
  for (SourceModel& source : ensemble.sources)
    if (source.info().architecture == "efficientnet_v2_s")
      for (BatchNorm* norm : source.layered()->network().batch_norms()) norm->weight.mul_(0.5);
}

const std::vector<std::vector<std::string>>& exported_families() {
  static const std::vector<std::vector<std::string>> all = {
      {"vit_ti_8_prenorm_ls_reg_both", "vit_ti_32_clip", "vit_ti_32_clip_raw", "convnext_tiny", "convnextv2_tiny",
       "swin_t", "swin_v2_t"},
      {"mobilenet_v2", "mobilenet_v3_small", "tf_efficientnet_b0", "efficientnet_v2_s", "densenet121",
       "regnet_y_400mf"}};
  return all;
}

TEST(ExportOnnx, EveryFamilyMatchesInOnnxRuntime) {
  const auto node = test::node_with();
  if (!node) GTEST_SKIP() << test::kNoOnnxRuntime;
  for (const std::vector<std::string>& names : exported_families()) {
    Ensemble ensemble = ensemble_of(names, 64);
    randomise(ensemble);
    const ImageSet set = pictures(64);
    for (SourceModel& source : ensemble.sources) {  // one at a time tells which
      Ensemble alone;
      alone.sources.push_back(std::move(source));
      EXPECT_TENSOR_NEAR(run_onnx(*node, alone, set), our_probabilities(alone, set), 1e-4)
          << alone.sources.front().info().architecture;
    }
  }
}

TEST(ExportTorchScript, EveryFamilyMatchesInPyTorch) {
  const auto python = test::python_with("torch, numpy");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  const TempDir folder;
  for (const std::vector<std::string>& names : exported_families()) {
    Ensemble ensemble = ensemble_of(names, 64);
    randomise(ensemble);
    const ImageSet set = pictures(64);
    for (SourceModel& source : ensemble.sources) {
      Ensemble alone;
      alone.sources.push_back(std::move(source));
      export_torchscript(folder / "model.pt", alone);
      EXPECT_TENSOR_NEAR(run_python_model(*python, "torchscript", folder / "model.pt", set, 5),
                         our_probabilities(alone, set), 1e-4)
          << alone.sources.front().info().architecture;
    }
  }
}

TEST(ExportTorchScript, EveryMixtureRuleMatchesInPyTorch) {
  const auto python = test::python_with("torch, numpy");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  const TempDir folder;
  Ensemble ensemble = ensemble_of({"lenet", "dtn"}, 32);
  const ImageSet set = pictures(32);
  for (const Mixture& mixture : all_mixtures(2)) {
    ensemble.mixture = mixture;
    export_torchscript(folder / "model.pt", ensemble);
    EXPECT_TENSOR_NEAR(run_python_model(*python, "torchscript", folder / "model.pt", set, 5),
                       our_probabilities(ensemble, set), 1e-5);
  }
  Ensemble residual = ensemble_of({"resnet18"}, 64);
  export_torchscript(folder / "model.pt", residual);
  EXPECT_TENSOR_NEAR(run_python_model(*python, "torchscript", folder / "model.pt", pictures(64), 5),
                     our_probabilities(residual, pictures(64)), 1e-4);
}

TEST(ExportStateDict, SingleSourceLoadsInTorchvision) {
  const auto python = test::python_with("torchvision, numpy");
  if (!python) GTEST_SKIP() << "skipped: no python3-torchvision";
  const TempDir folder;
  for (const std::string name : {"resnet18", "resnext50_32x4d", "convnext_tiny", "swin_v2_t", "mobilenet_v3_small",
                                 "efficientnet_b0", "regnet_y_400mf"}) {
    Ensemble ensemble = ensemble_of({name}, 64);
    randomise(ensemble);
    export_state_dict(folder / "model.pt", ensemble);
    EXPECT_TENSOR_NEAR(run_python_model(*python, "torchvision:" + name, folder / "model.pt", pictures(64), 5),
                       our_probabilities(ensemble, pictures(64)), 1e-4);
  }
}

TEST(ExportStateDict, RoundTrips) {
  const TempDir folder;
  for (const std::string name : {"lenet", "dtn", "resnet18", "vit_ti_16", "vit_ti_8_prenorm_ls_reg_both",
                                 "convnextv2_tiny", "mobilenetv3_small_100"}) {
    const int size = name == "lenet" || name == "dtn" ? 32 : 64;
    Ensemble ensemble = ensemble_of({name}, size);
    export_state_dict(folder / "model.pt", ensemble);
    ImportOptions options;
    options.size = options.resize = size;
    Ensemble read = load_ensemble(folder / "model.pt", options);
    EXPECT_EQ(read.sources.front().info().architecture, name);
    EXPECT_TENSOR_NEAR(our_probabilities(read, pictures(size)), our_probabilities(ensemble, pictures(size)), 1e-4);
  }
}

TEST(ExportStateDict, MixtureHasTheNamesOfOurModelFiles) {
  const TempDir folder;
  Ensemble ensemble = ensemble_of({"lenet", "dtn"}, 32);
  ensemble.mixture = {Combination::kWeightedLogits, torch::tensor({0.5f, 1.5f})};
  export_state_dict(folder / "model.pt", ensemble);
  const TensorFile file = TensorFile::read(folder / "model.pt");
  EXPECT_EQ(file.entries().front().name, "source.0.backbone.conv1.weight");
  EXPECT_EQ(file.entries().back().name, "weights");
}

TEST(ExportCard, DescribesClassesAndPreprocessing) {
  const TempDir folder;
  Ensemble ensemble = ensemble_of({"lenet"}, 32);
  export_card(folder / "card.json", ensemble);
  const auto card = nlohmann::json::parse(read_text(folder / "card.json"));
  EXPECT_EQ(card.at("classes").size(), 5u);
  EXPECT_EQ(card.at("size"), 32);
  EXPECT_EQ(card.at("resize"), 32);
  EXPECT_EQ(card.at("aspect"), "stretch");
  EXPECT_EQ(card.at("sources")[0].at("architecture"), "lenet");
  const Normalisation& normalisation = ensemble.sources[0].info().normalisation;
  EXPECT_EQ(card.at("sources")[0].at("mean"), nlohmann::json(normalisation.mean));
  EXPECT_EQ(card.at("sources")[0].at("deviation"), nlohmann::json(normalisation.deviation));
  EXPECT_EQ(card.at("input").dump(), R"({"channels":"RGB","name":"pixels","shape":["batch",32,32,3],"type":"uint8"})");
  EXPECT_EQ(card.at("output").dump(), R"({"name":"probabilities","shape":["batch",5],"type":"float32"})");
}

TEST(FoldedHead, EqualsBottleneckBatchNormAndClassifier) {
  for (const bool bottleneck : {true, false}) {
    ModelInfo info = test::small_info("lenet", 6, bottleneck ? 24 : 1250);
    info.bottleneck = bottleneck;
    info.classifier = bottleneck ? ClassifierKind::kWeightNorm : ClassifierKind::kLinear;
    LayeredSource source(info, Random(4), Start::kDefault);
    torch::NoGradGuard no_grad;
    for (const NamedTensor& tensor : source.bottleneck().buffers)
      if (tensor.name.ends_with("running_mean")) tensor.value.copy_(test::normals(tensor.value.sizes(), 5));
    Backbone backbone = make_backbone("lenet", {}, Random(4).child(0));
    const Tensor x = test::normals({3, 3, 32, 32}, 6);
    const Affine head = source.folded_head();
    const Tensor folded = at::linear(backbone.network.forward(x, nullptr), head.weight, head.bias);
    EXPECT_TENSOR_NEAR(folded, source.classify(source.features(x, nullptr)), 1e-5);
  }
}

}  // namespace
}  // namespace tributary

// Every flag that all methods have in common changes the model under every method that accepts it; augmentation also in
// CUDA graphs.
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <algorithm>
#include <set>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/train/distillation.h"
#include "tributary/train/source_training.h"

namespace tributary {
namespace {

struct Setting {
  torch::Device device;
  bool cuda_graph;
  int64_t pictures;  // in batches of 8
};

Tensor flat(const NamedTensors& state) {
  std::vector<Tensor> all;
  for (const NamedTensor& tensor : state) all.push_back(tensor.value.detach().cpu().to(torch::kFloat64).reshape({-1}));
  return at::cat(all);
}

Tensor trained_source(const Augmentation& augmentation, const Setting& setting) {
  SourceModel model(test::small_info("lenet"), Random(1));
  model.to(setting.device);
  LabelledImages data{test::noise_pictures(setting.pictures), {numbered_classes(10), {}}};
  for (int64_t i = 0; i < setting.pictures; ++i) data.labels.values.push_back(i % 10);
  SourceTrainingOptions options;
  options.epochs = 1;
  options.batch = 8;
  options.keep = KeptIterate::kLast;
  options.augmentation = augmentation;
  train_source(model, data, data, options, 1);
  return flat(model.state());
}

Tensor distilled(const Augmentation& augmentation, const Setting& setting) {
  Ensemble teachers = test::small_ensemble({"lenet", "dtn"});
  teachers.to(setting.device);
  SourceModel student(test::small_info("lenet"), Random(9));
  student.to(setting.device);
  DistillationOptions options;
  options.epochs = 1;
  options.batch = 8;
  options.augmentation = augmentation;
  distill(student, teachers, test::noise_pictures(setting.pictures), options, 1);
  return flat(student.state());
}

std::unique_ptr<Method> method_named(const std::string& name, const MethodOptions& common) {
  if (name == "selective") {
    SelectiveOptions options;
    const double rate_bottleneck = options.rate_bottleneck;
    static_cast<MethodOptions&>(options) = common;
    if (common.rate_bottleneck < 0) options.rate_bottleneck = rate_bottleneck;
    options.rounds = 1;
    options.inner_epochs = 1;
    options.aggregation.steps = 5;
    return std::make_unique<SelectiveSelfTraining>(options);
  }
  for (const MethodEntry& entry : registered_methods()) {
    if (entry.name != name) continue;
    // During warm-up MA does not train its predictor, and CoWA hardly does.
    const bool warms_up = name == "ma" || name == "cowa";
    return test::configured(entry, warms_up ? name + "_warm_up = 0\n" : "", common);
  }
  throw std::logic_error("no method " + name);
}

Tensor adapted(const std::string& name, const MethodOptions& common, const Setting& setting) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  if (name != "ma") ensemble.sources.emplace_back(test::small_info("lenet"), Random(2));  // MA is slow
  ensemble.to(setting.device);
  test::Recorder recorder;
  method_named(name, common)->adapt(ensemble, test::noise_pictures(setting.pictures), recorder);
  return flat(ensemble.state());
}

MethodOptions quick_with(const Augmentation& augmentation, bool cuda_graph) {
  MethodOptions common = test::quick(/*epochs=*/1);
  common.augmentation = augmentation;
  common.cuda_graph = cuda_graph;
  return common;
}

Tensor trained(const std::string& name, const Augmentation& augmentation, const Setting& setting) {
  if (name == "train") return trained_source(augmentation, setting);
  if (name == "distill") return distilled(augmentation, setting);
  return adapted(name, quick_with(augmentation, setting.cuda_graph), setting);
}

constexpr Augmentation kOff{0, 0, 0, 0, 0, 0, 0, 0};

class AugmentationFlags : public ::testing::TestWithParam<std::string> {
 protected:
  static void expect_changes(const Setting& setting) {
    const Tensor without = trained(GetParam(), kOff, setting);
    ASSERT_TRUE(without.isfinite().all().item<bool>());
    const auto expect_change = [&](const char* flag, const Augmentation& augmentation) {
      const Tensor with = trained(GetParam(), augmentation, setting);
      EXPECT_TRUE(with.isfinite().all().item<bool>()) << flag;
      // GPU runs differ in rounding; augmentation changes results by more.
      EXPECT_GT((with - without).abs().max().item<double>(), 1e-4) << flag;
    };
    expect_change("--augment-shift", {4, 0, 0, 0});
    expect_change("--augment-flip", {0, 0.5, 0, 0});
    expect_change("--augment-grey", {0, 0, 0.5, 0});
    expect_change("--augment-rotation", {0, 0, 0, 45});
    expect_change("--augment-zoom-in", {0, 0, 0, 0, 0.5, 0});
    expect_change("--augment-zoom-out", {0, 0, 0, 0, 0, 0.5});
    expect_change("--augment-jitter", {0, 0, 0, 0, 0, 0, 0.5});
    expect_change("--augment-cutout", {0, 0, 0, 0, 0, 0, 0, 0.5});
  }
};

TEST_P(AugmentationFlags, ChangeTheModelInEagerSteps) {
  expect_changes({torch::kCPU, false, 24});
}

TEST_P(AugmentationFlags, ChangeTheModelInCapturedSteps) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  expect_changes({torch::Device(torch::kCUDA, 0), true, 48});  // the first two steps of a shape are eager
}

INSTANTIATE_TEST_SUITE_P(Methods, AugmentationFlags,
                         ::testing::Values("train", "distill", "selective", "bait", "sfda", "shot", "ma", "decision",
                                           "caida", "nrc", "aad", "cowa"),
                         [](const auto& info) { return info.param; });

class CommonFlags : public ::testing::TestWithParam<std::string> {};

TEST_P(CommonFlags, ChangeTheModelUnlessTheMethodRefusesThem) {
  const Setting setting{torch::kCPU, false, 24};
  const MethodOptions base = quick_with(kOff, setting.cuda_graph);
  const Tensor before = adapted(GetParam(), base, setting);
  for (const MethodEntry& entry : registered_methods()) {
    if (entry.name != GetParam()) continue;
    const auto expect_change = [&](const std::string& key, MethodOptions changed) {
      const bool refused = std::count(entry.unused_options.begin(), entry.unused_options.end(), key) > 0;
      EXPECT_EQ(torch::equal(adapted(entry.name, changed, setting), before), refused) << key;
    };
    MethodOptions changed = base;
    changed.batch = 12;
    expect_change("batch", changed);
    changed = base;
    changed.rate_backbone = 0.02;
    expect_change("rate_backbone", changed);
    changed = base;
    changed.rate_bottleneck = 0.02;
    expect_change("rate_bottleneck", changed);
    changed = base;
    changed.backbone.clip_gradient = 1e-6;
    expect_change("clip_gradient", changed);
    changed = base;
    changed.epochs = 2;
    if (std::count(entry.length_options.begin(), entry.length_options.end(), "epochs") > 0)
      expect_change("epochs", changed);
  }
}

TEST_P(CommonFlags, TrainKeepsTheOtherLayers) {
  for (const MethodEntry& entry : registered_methods()) {
    if (entry.name != GetParam() || std::count(entry.unused_options.begin(), entry.unused_options.end(), "train") > 0)
      continue;
    Ensemble ensemble = test::small_ensemble({"dtn"});
    MethodOptions common = quick_with(kOff, false);
    common.backbone.layers = "norm";
    const NamedTensors before = copy_of(ensemble.sources[0].backbone_parameters());
    test::Recorder recorder;
    method_named(entry.name, common)->adapt(ensemble, test::noise_pictures(24), recorder);
    const NamedTensors after = ensemble.sources[0].backbone_parameters();
    std::set<std::string> changed, normalisation;
    for (size_t i = 0; i < after.size(); ++i)
      if (!torch::equal(before[i].value, after[i].value)) changed.insert(after[i].name);
    for (const NamedTensor& parameter : trained_backbone(ensemble.sources[0], "norm"))
      normalisation.insert(parameter.name);
    EXPECT_EQ(changed, normalisation);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, CommonFlags,
                         ::testing::Values("selective", "bait", "sfda", "shot", "ma", "source-ens", "decision", "caida",
                                           "nrc", "aad", "cowa"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The adversary sees only the confident and the unconfident batch, both augmented.
TEST(SelectiveAugmentation, ReachesUnconfidentBatches) {
  const auto adapted = [](const Augmentation& augmentation) {
    Ensemble ensemble = test::small_ensemble({"lenet"});
    SelectiveOptions options;
    options.rounds = 2;  // the last round has no unconfident samples
    options.inner_epochs = 1;
    options.batch = 8;
    options.lambda_ce = options.lambda_im = 0;  // the adversary alone trains the source
    options.lambda_alpha = 1;
    options.augmentation = augmentation;
    test::Recorder recorder;
    SelectiveSelfTraining(options).adapt(ensemble, test::noise_pictures(48), recorder);
    EXPECT_EQ(recorder.rounds.size(), 3u);
    EXPECT_TRUE(recorder.rounds[1].losses.aligned);
    return flat(ensemble.state());
  };
  EXPECT_FALSE(torch::equal(adapted(kOff), adapted({4, 0, 0, 45})));
}

}  // namespace
}  // namespace tributary

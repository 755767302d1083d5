// CoWA's labels, scores, mixed losses and a whole step against an independent PyTorch script.
#include <nlohmann/json.hpp>

#include "tests/support/dump.h"
#include "tests/support/models.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/methods/cowa/joint_score.h"
#include "tributary/methods/cowa/weight_mixup.h"
#include "tributary/methods/shot/centroids.h"
#include "tributary/train/device_images.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

using test::Dump;

TEST(CowaParity, LabelsScoresAndAStepAgree) {
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  constexpr int64_t kPictures = 80, kWidth = 12, kClasses = 10;
  Dump dump;
  // Features that form groups, and predictions that know them partly.
  const Tensor truth = torch::arange(kPictures).remainder(kClasses);
  const Tensor features =
      test::normals({kClasses, kWidth}, 1).index_select(0, truth) * 2 + test::normals({kPictures, kWidth}, 2);
  const Tensor logits = hard_weights(truth, kClasses) * 1.5 + test::normals({kPictures, kClasses}, 3);
  dump.add("in.features", features);
  dump.add("in.logits", logits);
  for (const bool cosine : {true, false}) {
    JointScoreOptions options;
    options.cosine = cosine;
    const JointScore found = joint_score(features, logits.to(torch::kFloat64).softmax(1), options);
    const std::string at = cosine ? "out.cosine." : "out.euclidean.";
    dump.add(at + "label", found.label);
    dump.add(at + "gamma", found.responsibilities);
    dump.add(at + "gap", found.gap);
    dump.add(at + "confidence", found.confidence);
  }

  // A step on a batch of six.
  SourceModel source(test::small_info("lenet", kClasses), Random(1));
  for (NamedTensor& parameter : source.classifier_parameters()) parameter.value.set_requires_grad(true);
  Sgd optimiser({{source.backbone_parameters(), 0.02},
                 {source.bottleneck_parameters(), 0.05},
                 {source.classifier_parameters(), 0.005}},
                {});
  const Tensor pixels = test::normals({6, 3, 32, 32}, 6).sigmoid().contiguous(at::MemoryFormat::ChannelsLast);
  const Tensor label = test::indices({3, 1, 4, 1, 5, 9}), partner = test::indices({2, 0, 5, 3, 1, 4});
  const Tensor weight = torch::tensor({.9f, .1f, .5f, .7f, .3f, 0.f});
  const Tensor ratio = torch::tensor({.8f, .3f, 1.f, .5f, .05f, .6f});
  dump.add("step.x", normalise(pixels, source.info().normalisation));
  dump.add("step.label", label);
  dump.add("step.partner", partner);
  dump.add("step.weight", weight);
  dump.add("step.ratio", ratio);
  dump.add("before.", source.state());
  DropoutStream masks(Random(7), torch::kCPU);
  const Tensor x = normalise(mix_rows(pixels, partner, ratio), source.info().normalisation);
  const Tensor p = source.classify(source.features(x, &masks)).softmax(1);
  const Tensor loss = weighted_soft_cross_entropy(p, mix_rows(hard_weights(label, kClasses), partner, ratio),
                                                  mix_rows(weight, partner, ratio));
  loss.backward();
  optimiser.step(1.0);
  dump.add("step.mask.", masks.drawn());
  dump.add("out.loss", loss);
  dump.add("after.", source.state());

  test::TempDir folder;
  dump.write(folder / "cowa.safetensors", {{"source", {{"architecture", "lenet"}, {"feature_width", 256}}},
                                           {"classes", kClasses},
                                           {"masks", masks.drawn().size()},
                                           {"rates", {0.02, 0.05, 0.005}},
                                           {"epsilon", 1e-6}});
  EXPECT_TRUE(test::run_python(*python, "tests/parity/cowa_reference.py", {folder / "cowa.safetensors"}))
      << "its output above says what differs";
}

}  // namespace
}  // namespace tributary

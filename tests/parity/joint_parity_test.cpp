// DECISION's and CAiDA's labels, losses and gradients against an independent PyTorch script.
#include <nlohmann/json.hpp>

#include "tests/support/dump.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/methods/caida/anchors.h"
#include "tributary/methods/decision/source_centroids.h"
#include "tributary/methods/joint/source_mixture.h"
#include "tributary/methods/shot/centroids.h"

namespace tributary {
namespace {

using test::Dump;

constexpr int64_t kSources = 3, kPictures = 160, kClasses = 6, kWidth = 12, kBatch = 20;

void compare(const Dump& dump, const std::string& method, double labels, double relations) {
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  test::TempDir folder;
  const std::string path = folder / (method + ".safetensors");
  dump.write(path, {{"method", method}, {"labels", labels}, {"relations", relations}});
  EXPECT_TRUE(test::run_python(*python, "tests/parity/joint_reference.py", {path})) << "see its output";
}

// Clusters that every source sees differently, with mostly right predictions.
struct Target {
  Tensor truth = torch::arange(kPictures) % kClasses;
  Tensor features = (2 * test::normals({kSources, kClasses, kWidth}, 1)).index_select(1, truth) +
                    2 * test::normals({kSources, kPictures, kWidth}, 2);
  Tensor logits = 2 * hard_weights(truth, kClasses) + 2 * test::normals({kSources, kPictures, kClasses}, 3);
  Tensor batch = torch::arange(kBatch) * 7 + 3;
};

void add_step(Dump& dump, const Tensor& weights, const Tensor& labels, const MixtureLossWeights& counts,
              const std::vector<Tensor>& raw) {
  const Tensor logits = test::normals({kSources, kBatch, kClasses}, 4).requires_grad_(true);
  const MixtureLoss loss = mixture_loss(logits, weights, labels, counts);
  loss.objective.backward();
  dump.add("in.step_logits", logits);
  dump.add("weights", weights);
  dump.add("labels", labels);
  dump.add("objective", loss.objective);
  dump.add("parts", loss.parts);
  dump.add("gradient.logits", logits.grad());
  dump.add("gradient.raw", raw.front().grad());
}

TEST(JointParity, DecisionMatches) {
  const Target target;
  const Tensor raw = test::normals({kSources}, 5).requires_grad_(true);
  const Tensor weights = sigmoid_weights(raw);
  std::vector<Tensor> rows, own;
  for (int64_t j = 0; j < kSources; ++j) {
    const Tensor all = with_one_normalised(target.features[j]);
    own.push_back(source_centroids(all, target.logits[j].softmax(1), EmptyCentroid::kSoft));
    rows.push_back(all.index_select(0, target.batch));
  }
  Dump dump;
  dump.add("in.features", target.features);
  dump.add("in.logits", target.logits);
  dump.add("in.batch", target.batch);
  dump.add("in.raw", raw);
  dump.add("centroids", at::stack(own));
  const Tensor labels = nearest_centroid(fused(rows, weights.detach()), fused(own, weights.detach()));
  add_step(dump, weights, labels, {0.3, 0}, {raw});
  compare(dump, "decision", 0.3, 0);
}

TEST(JointParity, CaidaMatches) {
  const Target target;
  const Tensor raw = test::normals({kSources}, 6).requires_grad_(true);
  const Tensor weights = softmax_weights(raw, torch::zeros({1}));
  const Tensor backbones = test::normals({kSources, kPictures, 30}, 7);
  const Tensor shares = draw_shares(kPictures, {}, Random(8));
  const Tensor current = weights.detach();
  const AnchoredLabels all = anchored_labels(fused(target.logits.unbind(), current).softmax(1),
                                             with_one_normalised(fused(target.features.unbind(), current)),
                                             fused(backbones.unbind(), current), shares, AnchorSearch::kWalk);
  Dump dump;
  dump.add("in.features", target.features);
  dump.add("in.logits", target.logits);
  dump.add("in.backbones", backbones);
  dump.add("in.shares", shares);
  dump.add("in.batch", target.batch);
  dump.add("in.raw", raw);
  dump.add("confident", all.confident);
  dump.add("anchors", all.anchors);
  dump.add("all_labels", all.labels);
  add_step(dump, weights, all.labels.index_select(0, target.batch), {0.7, 0.01}, {raw});
  compare(dump, "caida", 0.7, 0.01);
}

}  // namespace
}  // namespace tributary

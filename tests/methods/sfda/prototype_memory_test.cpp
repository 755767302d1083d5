#include "tributary/methods/sfda/prototype_memory.h"

#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

// Unit vectors at angles in degrees, [n, 2].
Tensor at_angles(const std::vector<double>& degrees) {
  const Tensor angle = torch::tensor(degrees) * (M_PI / 180);
  return at::stack({angle.cos(), angle.sin()}, 1);
}

// A memory of two classes with two prototypes each, and capacity for a third.
PrototypeMemory of_angles(const std::vector<double>& first, const std::vector<double>& second) {
  PrototypeMemory memory(2, 3, 2, torch::kCPU);
  memory.rows[0].narrow(0, 0, 2).copy_(at_angles(first));
  memory.rows[1].narrow(0, 0, 2).copy_(at_angles(second));
  memory.rows.select(1, 2).fill_(100);  // rows beyond the count must be ignored
  memory.count.fill_(2);
  return memory;
}

TEST(MemoryTrust, SaturatesAtHalfOfTheSteps) {
  const Tensor trust = memory_trust(torch::tensor({0.0f, 500.0f, 1250.0f, 2500.0f}), 5000);
  EXPECT_EQ(trust[0].item<float>(), 0);
  EXPECT_TENSOR_NEAR(trust, torch::tensor({0.0, 0.761594, 0.986614, 0.999909}), 1e-6);
  EXPECT_EQ(memory_trust(torch::tensor(0.0f), 1).item<float>(), 0) << "a single step has no half";
}

TEST(ChoosePrototypes, KeepsPicturesUpToTheLargestMinimumEntropy) {
  const Tensor labels = test::indices({0, 1, 0, 1, 0});
  const Tensor entropy = torch::tensor({0.40, 0.50, 0.10, 0.30, 0.25});
  const PrototypeChoice choice = choose_prototypes(labels, entropy, torch::full({5, 2}, 0.5), 100);
  EXPECT_FLOAT_EQ(static_cast<float>(choice.threshold), 0.30f);
  EXPECT_TENSOR_EQ(choice.index, test::indices({2, 4, 3, 3}).view({2, 2}));
}

TEST(ChoosePrototypes, TruncatesLargeClassesAndRepeatsSmallOnes) {
  const Tensor labels = test::indices({0, 0, 0, 0, 1, 1, 1, 2});
  const Tensor entropy = torch::tensor({0.3, 0.2, 0.1, 0.0, 0.2, 0.1, 0.9, 0.5});
  const Tensor any = torch::full({8, 3}, 1.0 / 3);
  EXPECT_TENSOR_EQ(choose_prototypes(labels, entropy, any, 100).index,
                   test::indices({3, 2, 1, 0, 5, 4, 5, 4, 7, 7, 7, 7}).view({3, 4}));
  EXPECT_TENSOR_EQ(choose_prototypes(labels, entropy, any, 3).index,
                   test::indices({3, 2, 1, 5, 4, 5, 7, 7, 7}).view({3, 3}));
  EXPECT_TENSOR_EQ(choose_prototypes(labels, entropy, any, 1).index, test::indices({3, 5, 7}).view({3, 1}));
}

TEST(ChoosePrototypes, BreaksTiesOfSaturatedPredictionsByIndex) {
  const PrototypeChoice choice =
      choose_prototypes(test::indices({1, 0, 1}), torch::zeros({3}), torch::full({3, 2}, 0.5), 100);
  EXPECT_EQ(choice.threshold, 0);
  EXPECT_TENSOR_EQ(choice.index, test::indices({1, 1, 0, 2}).view({2, 2}));
}

TEST(ChoosePrototypes, UsesTheMostProbablePictureForAnEmptyClass) {
  const Tensor p = torch::tensor({{0.8, 0.1, 0.1}, {0.4, 0.3, 0.3}, {0.1, 0.7, 0.2}});
  const auto chosen = [&](AbsentClass absent) {
    return choose_prototypes(p.argmax(1), normalised_entropy(p), p, 100, absent).index[2];
  };
  EXPECT_TENSOR_EQ(chosen(AbsentClass::kMostProbable), test::indices({1}));
  // The released code takes the class of third largest probability of picture 0 as a picture index.
  const Tensor q = torch::tensor({{0.5, 0.2, 0.3}, {0.5, 0.1, 0.4}, {0.1, 0.7, 0.2}});
  EXPECT_TENSOR_EQ(choose_prototypes(q.argmax(1), normalised_entropy(q), q, 100, AbsentClass::kReleased).index[2][0],
                   torch::tensor(1, torch::kInt64));
}

TEST(NormalisedEntropy, IsOneForUniformAndZeroForCertain) {
  const Tensor p = torch::tensor({{0.25f, 0.25f, 0.25f, 0.25f}, {0.0f, 1.0f, 0.0f, 0.0f}});
  EXPECT_TENSOR_NEAR(normalised_entropy(p), torch::tensor({1.0f, 0.0f}), 1e-6);
}

TEST(PrototypeMemory, StoresUnitRowsInPlace) {
  PrototypeMemory memory(2, 4, 2, torch::kCPU);
  const void* data = memory.rows.data_ptr();
  const Tensor features = torch::tensor({{3.0f, 4.0f}, {0.0f, 2.0f}, {5.0f, 0.0f}});
  const Tensor p = torch::tensor({{0.9f, 0.1f}, {0.9f, 0.1f}, {0.1f, 0.9f}});
  memory.rebuild(features, p);
  EXPECT_EQ(memory.rows.data_ptr(), data);
  EXPECT_EQ(memory.count.item<int64_t>(), 2);
  EXPECT_TENSOR_NEAR(memory.rows[0].narrow(0, 0, 2), torch::tensor({{0.6f, 0.8f}, {0.0f, 1.0f}}), 1e-6);
  EXPECT_TENSOR_NEAR(memory.rows[1].narrow(0, 0, 2), torch::tensor({{1.0f, 0.0f}, {1.0f, 0.0f}}), 1e-6);
}

TEST(PrototypeLabels, AreConfidentIfTheWholeClassIsNearerThanTheRunnerUp) {
  const Tensor x = at_angles({0}) * 7;
  const PrototypeLabels sure = prototype_labels(x, of_angles({10, 20}, {50, 60}));
  EXPECT_EQ(sure.label.item<int64_t>(), 0);
  EXPECT_NEAR(sure.farthest.item<float>(), 0.060307, 1e-6);
  EXPECT_NEAR(sure.nearest.item<float>(), 0.357212, 1e-6);
  EXPECT_EQ(sure.confidence.item<float>(), 1);
  const PrototypeLabels unsure = prototype_labels(x, of_angles({10, 55}, {50, 60}));
  EXPECT_EQ(unsure.label.item<int64_t>(), 0);
  EXPECT_NEAR(unsure.farthest.item<float>(), 0.426424, 1e-6);
  EXPECT_TENSOR_NEAR(unsure.similarity[0], torch::tensor({0.779, 0.571}), 1e-3);
  EXPECT_EQ(unsure.confidence.item<float>(), 0);
}

TEST(PrototypeLabels, CompareTwoDistancesForSinglePrototypes) {
  PrototypeMemory memory = of_angles({10, 80}, {50, 0});
  memory.count.fill_(1);
  const PrototypeLabels labels = prototype_labels(at_angles({0, 31}), memory);
  EXPECT_TENSOR_EQ(labels.label, test::indices({0, 1}));
  EXPECT_TENSOR_EQ(labels.confidence, torch::ones({2}));
}

TEST(PrototypeLabels, MatchTheBlockDiagonalOfTheReleasedCode) {
  constexpr int64_t kClasses = 5, kCount = 3, kBatch = 4, kWidth = 6;
  PrototypeMemory memory(kClasses, kCount + 2, kWidth, torch::kCPU);
  Tensor rows = test::normals({kClasses, kCount, kWidth}, 1).relu() + 0.01;
  rows[0].copy_(rows[0][0] + 0.02 * rows[0]);  // a class with similar prototypes
  rows = rows / rows.norm(2, {2}, true);
  memory.rows.narrow(1, 0, kCount).copy_(rows);
  memory.count.fill_(kCount);
  const Tensor x = at::cat({rows[0].narrow(0, 0, 2), test::normals({2, kWidth}, 2).relu() + 0.01});
  const PrototypeLabels labels = prototype_labels(x, memory);

  // All pictures, each P times, with the P prototypes of each: a (b P) x (b P) matrix of distances. Only the blocks on
  // the diagonal compare a picture with its own prototypes.
  const Tensor repeated = (x / x.norm(2, {1}, true)).repeat_interleave(kCount, 0);
  const auto blocks = [&](const Tensor& classes) {
    const Tensor all = 1 - repeated.matmul(rows.index_select(0, classes).flatten(0, 1).t());
    std::vector<Tensor> own;
    for (int64_t i = 0; i < kBatch; ++i) own.push_back(all.narrow(0, i * kCount, kCount).narrow(1, i * kCount, kCount));
    return at::stack(own).flatten(1);
  };
  const Tensor cosine = (x / x.norm(2, {1}, true)).matmul(rows.flatten(0, 1).t()).view({kBatch, kClasses, kCount});
  const Tensor order = cosine.mean(2).argsort(1, true);
  EXPECT_TENSOR_EQ(labels.label, order.select(1, 0));
  EXPECT_TENSOR_NEAR(labels.farthest, blocks(order.select(1, 0)).amax(1), 1e-6);
  EXPECT_TENSOR_NEAR(labels.nearest, blocks(order.select(1, 1)).amin(1), 1e-6);
  EXPECT_GT(labels.confidence.sum().item<float>(), 0);
  EXPECT_LT(labels.confidence.sum().item<float>(), kBatch);
}

TEST(MemoryLosses, StartWithTheSourceModelOnly) {
  const Tensor features = test::normals({4, 6}, 1).requires_grad_();
  const Tensor source_head = test::normals({3, 6}, 2);
  const Tensor head = source_head.clone().requires_grad_();
  const Tensor source_logits = features.matmul(source_head.t());
  PrototypeLabels labels;
  labels.label = test::indices({0, 1, 2, 0});
  labels.confidence = torch::ones({4});
  const auto losses = memory_losses(source_logits, source_logits.argmax(1), features.matmul(head.t()), labels,
                                    memory_trust(torch::zeros({}), 5000));
  // Heads and features still equal those of the source model.
  EXPECT_NEAR(losses.source.item<float>(), -source_logits.softmax(1).amax(1).log().mean().item<float>(), 1e-6);
  EXPECT_GT(losses.target.item<float>(), 0);
  const auto total = torch::autograd::grad({losses.total}, {features, head}, {}, /*retain_graph=*/true);
  const auto source = torch::autograd::grad({losses.source}, {features});
  EXPECT_TENSOR_EQ(total[1], torch::zeros_like(head));
  EXPECT_TENSOR_EQ(total[0], source[0]);
}

TEST(MemoryLosses, AverageOverAllPictures) {
  const Tensor logits = torch::zeros({4, 2});
  PrototypeLabels labels;
  labels.label = test::indices({0, 1, 1, 0});
  labels.confidence = torch::tensor({0.0f, 1.0f, 0.0f, 0.0f});
  const auto losses = memory_losses(logits, test::indices({0, 0, 0, 0}), logits, labels, torch::full({}, 0.25));
  EXPECT_NEAR(losses.target.item<float>(), std::log(2) / 4, 1e-6);
  EXPECT_NEAR(losses.total.item<float>(), 0.75 * std::log(2) + 0.25 * std::log(2) / 4, 1e-6);
}

}  // namespace
}  // namespace tributary

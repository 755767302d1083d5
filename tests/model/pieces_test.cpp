// A pass in pieces against one pass, and against the pieces by hand.
#include "tributary/model/pieces.h"

#include <gtest/gtest.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/less_memory.h"

namespace tributary {
namespace {

struct Pass {
  Tensor features;
  std::vector<Tensor> gradients;
};

// Features of `x`, and the gradient of a loss that mixes all rows.
Pass pass(SourceModel& model, const Tensor& x) {
  Noise noise(Random(3), torch::kCPU);
  const Tensor features = model.features(x, &noise);
  const Tensor classes = model.classify(features).softmax(1).mean(0);
  (classes * classes.log()).sum().backward();
  Pass result{features.detach(), {}};
  for (NamedTensor& tensor : model.backbone_parameters()) {
    result.gradients.push_back(tensor.value.grad().clone());
    tensor.value.mutable_grad() = Tensor();
  }
  return result;
}

TEST(Pieces, WithoutBatchNormAreTheWholeBatch) {
  const Tensor x = test::normals({10, 3, 32, 32}, 5);
  SourceModel model(test::small_info("lenet"), Random(1));
  const Pass whole = pass(model, x);
  for (const int64_t piece : {9, 5, 4, 2}) {
    SourceModel same(test::small_info("lenet"), Random(1));
    set_piece(same, piece);
    const Pass pieces = pass(same, x);
    EXPECT_TRUE(torch::allclose(pieces.features, whole.features, 1e-5, 1e-6)) << piece;
    ASSERT_EQ(pieces.gradients.size(), whole.gradients.size());
    for (size_t i = 0; i < whole.gradients.size(); ++i)
      EXPECT_TRUE(torch::allclose(pieces.gradients[i], whole.gradients[i], 1e-4, 1e-7)) << piece << " " << i;
  }
}

TEST(Pieces, TakeTheirOwnStatisticsAndMoveTheRunningOnesOnceEach) {
  const Tensor x = test::normals({6, 3, 32, 32}, 5);
  SourceModel split(test::small_info("dtn"), Random(1)), by_hand(test::small_info("dtn"), Random(1));
  set_piece(split, 3);
  Noise noise(Random(3), torch::kCPU);
  const Tensor features = split.layered()->backbone_features(x, &noise);
  const NamedTensors after_forward = copy_of(split.state());
  features.square().sum().backward();

  Noise whole(Random(3), torch::kCPU);
  std::vector<Tensor> parts;
  for (const int64_t first : {0, 3}) {
    Noise rows(whole, 0, first, 6);
    parts.push_back(by_hand.layered()->network().forward(x.narrow(0, first, 3), &rows));
  }
  const Tensor expected = at::cat(parts);
  expected.square().sum().backward();
  EXPECT_TRUE(torch::equal(features, expected));
  const NamedTensors ours = split.backbone_parameters(), theirs = by_hand.backbone_parameters();
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(torch::allclose(ours[i].value.grad(), theirs[i].value.grad(), 1e-5, 1e-6)) << ours[i].name;
  const NamedTensors now = split.state(), hand = by_hand.state();
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_TRUE(torch::equal(now[i].value, after_forward[i].value)) << now[i].name << " moved on the way back";
    if (now[i].name.ends_with("num_batches_tracked")) continue;
    EXPECT_TRUE(torch::equal(now[i].value, hand[i].value)) << now[i].name;
  }
}

TEST(Pieces, EvaluateAsTheWholeBatch) {
  const Tensor x = test::normals({7, 3, 32, 32}, 5);
  SourceModel model(test::small_info("dtn"), Random(1));
  torch::NoGradGuard no_grad;
  const Tensor whole = model.features(x);
  set_piece(model, 2);
  EXPECT_TRUE(torch::allclose(model.features(x), whole, 1e-5, 1e-6));
}

TEST(LessMemory, HalvesThePiecesUntilItWorks) {
  std::vector<int64_t> tried, told;
  const auto attempt = [&](int64_t enough) {
    tried.clear();
    told.clear();
    return until_it_fits(
        64, torch::kCPU,
        [&](int64_t piece) {
          tried.push_back(piece);
          if (piece == 0 || piece > enough) throw std::runtime_error("CUDA out of memory. Tried to allocate 2 GiB");
        },
        [&](int64_t piece) { told.push_back(piece); });
  };
  EXPECT_EQ(attempt(8), 8);
  EXPECT_EQ(tried, (std::vector<int64_t>{0, 32, 16, 8}));
  EXPECT_EQ(told, (std::vector<int64_t>{32, 16, 8}));
  EXPECT_THROW(attempt(1), std::runtime_error);
  EXPECT_EQ(tried.back(), 2);
  int64_t others = 0;
  EXPECT_THROW(until_it_fits(
                   64, torch::kCPU,
                   [&](int64_t) {
                     ++others;
                     throw std::runtime_error("another matter");
                   },
                   [](int64_t) {}),
               std::runtime_error);
  EXPECT_EQ(others, 1);
}

}  // namespace
}  // namespace tributary

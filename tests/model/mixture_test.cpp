#include "tributary/model/mixture.h"

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/adapt/information.h"
#include "tributary/eval/metrics.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

// Logits [m, 1, K] of the given probabilities.
Tensor logits_of(const std::vector<std::vector<float>>& probabilities) {
  std::vector<Tensor> rows;
  for (const auto& row : probabilities) rows.push_back(torch::tensor(row).log().unsqueeze(0));
  return at::stack(rows);
}

Tensor combine_by(const Tensor& logits, Combination rule) {
  return combine(logits, {rule, {}});
}

TEST(SourceEnsemble, OfOneSourceEqualsThatSource) {
  const Tensor logits = test::normals({1, 6, 4}, 1), truth = test::indices({0, 1, 2, 3, 0, 1});
  const Tensor p = combine_by(logits, Combination::kMeanProbability);
  EXPECT_TENSOR_EQ(p, logits[0].softmax(-1));
  EXPECT_EQ(accuracy_of(p, truth), accuracy_of(logits[0], truth));
}

TEST(SourceEnsemble, RulesMatchHandComputedValues) {
  const Tensor two = logits_of({{0.9f, 0.1f}, {0.2f, 0.8f}});
  EXPECT_TENSOR_NEAR(combine_by(two, Combination::kMeanProbability)[0], torch::tensor({0.55, 0.45}), 1e-6);
  EXPECT_TENSOR_NEAR(combine_by(two, Combination::kMeanLogit)[0], torch::tensor({0.6, 0.4}), 1e-6);
  const Tensor three = logits_of({{0.999f, 0.001f}, {0.3f, 0.7f}, {0.3f, 0.7f}});
  EXPECT_TENSOR_NEAR(combine_by(three, Combination::kMeanProbability)[0], torch::tensor({0.533, 0.467}), 1e-3);
  EXPECT_EQ(combine_by(three, Combination::kVote).argmax().item<int64_t>(), 1);
  EXPECT_EQ(combine_by(three, Combination::kMeanLogit).argmax().item<int64_t>(), 0);
  const Tensor p = combine_by(three, Combination::kMeanLogit)[0];
  EXPECT_NEAR((p[0] / p[1]).log().item<double>(), 1.737, 2e-3);
}

TEST(SourceEnsemble, VoteBreaksTiesByMeanProbability) {
  const Tensor tied = logits_of({{0.9f, 0.1f}, {0.2f, 0.8f}});
  EXPECT_EQ(combine_by(tied, Combination::kVote).argmax().item<int64_t>(), 0);
}

TEST(SourceEnsemble, IsInvariantToSourceOrderAndEquivariantToSampleOrder) {
  const Tensor logits = test::normals({3, 8, 4}, 2);
  const Tensor samples = test::indices({7, 0, 3, 1, 2, 6, 5, 4});
  for (const auto rule : {Combination::kMeanProbability, Combination::kMeanLogit, Combination::kVote}) {
    const Tensor p = combine_by(logits, rule);
    EXPECT_TENSOR_NEAR(combine_by(logits.index_select(0, test::indices({2, 0, 1})), rule), p, 1e-6);
    EXPECT_TENSOR_NEAR(combine_by(logits.index_select(1, samples), rule), p.index_select(0, samples), 1e-6);
  }
}

TEST(SourceEnsemble, RowsSumToOneAndAveragingRaisesEntropy) {
  const Tensor logits = 3 * test::normals({3, 20, 5}, 3);
  for (const auto rule : {Combination::kMeanProbability, Combination::kMeanLogit, Combination::kVote})
    EXPECT_TENSOR_NEAR(combine_by(logits, rule).sum(-1), torch::ones({20}), 1e-5);
  const Tensor own = entropy(logits.softmax(-1), 0).mean(0);
  EXPECT_TRUE((entropy(combine_by(logits, Combination::kMeanProbability), 0) >= own - 1e-6).all().item<bool>());
}

TEST(SourceEnsemble, EvaluationIsRepeatableAndLeavesTheModelUnchanged) {
  Ensemble ensemble = test::small_ensemble({"dtn", "lenet"});
  const DeviceImages images(test::noise_pictures(10), torch::kCPU);
  std::vector<NamedTensors> before;
  for (const SourceModel& source : ensemble.sources) before.push_back(copy_of(source.state()));
  const Tensor first = combine(evaluate_logits(ensemble, images), ensemble.mixture);
  EXPECT_TENSOR_EQ(first, combine(evaluate_logits(ensemble, images), ensemble.mixture));
  for (size_t j = 0; j < before.size(); ++j) {
    const NamedTensors after = ensemble.sources[j].state();
    for (size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(torch::equal(after[i].value, before[j][i].value));
  }
}

TEST(SourceEnsemble, OfCopiesOfOneSourceEqualsThatSource) {
  const Tensor one = test::normals({1, 6, 4}, 5);
  EXPECT_TENSOR_NEAR(combine_by(one.expand({4, 6, 4}), Combination::kMeanProbability), one[0].softmax(-1), 1e-6);
}

TEST(Mixture, UniformlyWeightedLogitsEqualTheMeanLogit) {
  const Tensor logits = test::normals({4, 9, 3}, 6);
  const Tensor uniform = torch::full({4}, 0.25);
  EXPECT_TENSOR_NEAR(combine(logits, {Combination::kWeightedLogits, uniform}),
                     combine_by(logits, Combination::kMeanLogit), 1e-6);
}

TEST(Mixture, TemperatureChangesTheConfidenceAlone) {
  const Tensor logits = 3 * test::normals({4, 9, 3}, 6);
  const Tensor weights = torch::tensor({2.0F, 1.0F, 0.5F, 0.5F});
  const Tensor sharp = combine(logits, {Combination::kWeightedLogits, weights});
  const Tensor soft = combine(logits, {Combination::kWeightedLogits, weights, 2});
  EXPECT_TENSOR_NEAR(soft, combine(logits, {Combination::kWeightedLogits, weights / 2}), 1e-5);
  EXPECT_TENSOR_EQ(soft.argmax(1), sharp.argmax(1));
  EXPECT_TENSOR_EQ(tempered(sharp, 1), sharp);
  EXPECT_TENSOR_NEAR(tempered(torch::tensor({{1.0F, 0.0F}}), 2), torch::tensor({{1.0F, 0.0F}}), 1e-6);
}

}  // namespace
}  // namespace tributary

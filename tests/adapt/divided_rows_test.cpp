// Building blocks on ranks that keep their own rows match those of one process.
#include <functional>

#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"
#include "tributary/adapt/aggregation.h"
#include "tributary/adapt/agreement.h"
#include "tributary/adapt/class_balance.h"
#include "tributary/adapt/class_prior.h"
#include "tributary/adapt/collapse.h"
#include "tributary/adapt/information.h"
#include "tributary/adapt/label_balance.h"
#include "tributary/adapt/neighbourhood.h"
#include "tributary/adapt/prototypes.h"

namespace tributary {
namespace {

constexpr int64_t kVoters = 3, kSamples = 601, kLabels = 7;

// Sources that mostly agree on a class: logits [m, n, K] and features [n, 5] of one.
struct Target {
  Tensor logits, features;
  Target() {
    torch::manual_seed(4);
    const Tensor truth = torch::randint(kLabels, {kSamples}, torch::kInt64);
    logits = torch::randn({kVoters, kSamples, kLabels});
    logits.scatter_add_(2, truth.view({1, -1, 1}).expand({kVoters, -1, 1}), torch::full({kVoters, kSamples, 1}, 2.5));
    features = torch::randn({kLabels, 5}).index_select(0, truth) * 2 + torch::randn({kSamples, 5});
  }
  Tensor probabilities() const { return logits.mean(0).softmax(-1); }
  Tensor labels() const { return logits.argmax(-1); }
};

const Target& target() {
  static const Target kTarget;
  return kTarget;
}

// On two, four and five ranks, whose blocks have different sizes.
void on_ranks(const std::function<void(const RowBlock&)>& work) {
  for (const int64_t size : {2, 4, 5})
    test::run_ranks(size, [&](Communicator& comm) {
      const torch::NoGradGuard no_grad;
      work(RowBlock(&comm, kSamples));
    });
}

// Labels of these samples that agree with the sources.
GivenLabels given_labels(std::vector<int64_t> samples = {3, 77, 310, 311, 600}) {
  const Tensor index = test::indices(std::move(samples));
  return {index, target().probabilities().argmax(-1).index_select(0, index)};
}

AggregationOptions aggregation(MixtureSpace space, WeightScale scale) {
  AggregationOptions options;
  options.space = space;
  options.scale = scale;
  options.steps = 60;
  options.rate = 0.02;  // a larger one lets weights change their sign, which amplifies rounding
  return options;
}

void expect_equal_weights(const AggregationOptions& options, const Tensor& prior, const Tensor& sample_weights,
                          const GivenLabels& given) {
  const Tensor start = torch::full({kVoters}, 1.0 / kVoters);
  const Tensor wanted = optimise_weights(target().logits, start, options, prior, sample_weights, given);
  EXPECT_GT((wanted - start).abs().max().item<double>(), 1e-3);
  const WeightLoss loss = weight_loss(target().logits, wanted, options, prior, sample_weights, given);
  on_ranks([&](const RowBlock& rows) {
    const Tensor own = rows.own(target().logits, 1);
    const Tensor own_weights = sample_weights.defined() ? rows.own(sample_weights) : Tensor();
    const GivenLabels own_given = given.of_rows(rows);
    EXPECT_TENSOR_NEAR(optimise_weights(own, start, options, prior, own_weights, own_given, rows), wanted, 1e-5);
    const WeightLoss divided = weight_loss(own, wanted, options, prior, own_weights, own_given, rows);
    EXPECT_TENSOR_NEAR(divided.value, loss.value, 1e-5);
    EXPECT_TENSOR_NEAR(divided.gradient, loss.gradient, 1e-5);
  });
}

TEST(DividedWeights, InLogits) {
  expect_equal_weights(aggregation(MixtureSpace::kLogits, WeightScale::kFree), {}, {}, {});
}

TEST(DividedWeights, WithPriorSampleWeightsAndGivenLabels) {
  const Tensor prior = torch::tensor({.3f, .1f, .1f, .1f, .2f, .1f, .1f});
  const Tensor sample_weights = torch::linspace(0.5, 1.5, kSamples);
  for (const WeightScale scale : {WeightScale::kFree, WeightScale::kFixed})
    expect_equal_weights(aggregation(MixtureSpace::kLogits, scale), prior, sample_weights, given_labels());
}

TEST(DividedWeights, InProbabilities) {
  expect_equal_weights(aggregation(MixtureSpace::kProbabilities, WeightScale::kFree), {}, {}, given_labels());
}

TEST(DividedWeights, GivenLabelsOfOneRankAlone) {
  expect_equal_weights(aggregation(MixtureSpace::kLogits, WeightScale::kFree), {}, {}, given_labels({2, 5}));
}

TEST(DividedGivenLabels, AreNumberedWithinTheOwnRows) {
  test::run_ranks(2, [](Communicator& comm) {
    const GivenLabels own = given_labels().of_rows(RowBlock(&comm, kSamples));
    const Tensor index = comm.first() ? test::indices({3, 77}) : test::indices({10, 11, 300});
    EXPECT_TENSOR_EQ(own.index, index);
    EXPECT_TENSOR_EQ(own.label, given_labels().label.narrow(0, comm.first() ? 0 : 2, index.size(0)));
    EXPECT_EQ(own.count(), 5);
  });
}

TEST(DividedPrototypes, AreThoseOfAllRows) {
  const Tensor own_probabilities = target().logits[0].softmax(-1);
  const Tensor label = at::where(own_probabilities.argmax(-1) == 6, -1, own_probabilities.argmax(-1));
  for (const EmptyClass empty : {EmptyClass::kWeighted, EmptyClass::kZero}) {
    PrototypeOptions options;
    options.empty = empty;
    const Tensor wanted = class_prototypes(target().features, label, own_probabilities, empty);
    const Tensor posterior =
        refined_posterior(target().features, label, own_probabilities, options, {}, given_labels());
    on_ranks([&](const RowBlock& rows) {
      const Tensor features = rows.own(target().features), p = rows.own(own_probabilities);
      EXPECT_TENSOR_NEAR(class_prototypes(features, rows.own(label), p, empty, rows), wanted, 1e-5);
      EXPECT_TENSOR_NEAR(
          class_prototypes(features.to(torch::kFloat64).to(torch::kBFloat16), rows.own(label), p, empty, rows), wanted,
          3e-2);
      EXPECT_TENSOR_NEAR(
          refined_posterior(features, rows.own(label), p, options, {}, given_labels().of_rows(rows), rows),
          rows.own(posterior), 1e-4);
    });
  }
}

TEST(DividedSelection, IsThatOfAllRows) {
  // Rounded, so that there are many ties.
  const Tensor score = (target().probabilities() * 50).round() / 50;
  const Tensor truth = target().labels()[1];
  const auto confidence = std::get<0>(score.max(-1));
  for (const int64_t count : {2, 150, 600, 601}) {
    const Selection all = select_confident(score, count), per_class = select_confident_per_class(score, count);
    const Selection oracle = select_with_oracle(score, truth);
    on_ranks([&](const RowBlock& rows) {
      const auto expect_same = [](const Selection& one, const Selection& other) {
        EXPECT_TENSOR_EQ(one.label, other.label);
        EXPECT_TENSOR_EQ(one.confident, other.confident);
        EXPECT_TENSOR_EQ(one.unconfident, other.unconfident);
      };
      expect_same(select_confident(rows.own(score), count, rows), all);
      expect_same(select_confident_per_class(rows.own(score), count, rows), per_class);
      expect_same(select_with_oracle(rows.own(score), truth, rows), oracle);
    });
  }
  on_ranks([&](const RowBlock& rows) {
    EXPECT_EQ(initial_count(rows.own(confidence), 1.1, Threshold::kAtLeast, rows),
              initial_count(confidence, 1.1, Threshold::kAtLeast));
  });
}

TEST(DividedLabels, SharesWeightsAndPriorAreThoseOfAllRows) {
  const Tensor label = at::where(target().labels()[0] < 4, 0, target().labels()[0]);
  on_ranks([&](const RowBlock& rows) {
    const Tensor own = rows.own(label);
    EXPECT_EQ(class_sizes(own, kLabels, rows), class_sizes(label, kLabels));
    EXPECT_EQ(largest_share(own, kLabels, rows), largest_share(label, kLabels));
    EXPECT_TENSOR_NEAR(balanced_sample_weights(own, kLabels, 1.5, rows),
                       rows.own(balanced_sample_weights(label, kLabels, 1.5)), 1e-6);
    EXPECT_TENSOR_EQ(estimated_prior(own, kLabels, 0.6, rows), estimated_prior(label, kLabels, 0.6));
  });
}

TEST(DividedLabels, BalancingOffsetsAreThoseOfAllRows) {
  const Tensor p = (target().logits[0] * 2 + torch::linspace(0, 2, kLabels)).softmax(-1);
  const Tensor wanted = balancing_offsets(p);
  on_ranks([&](const RowBlock& rows) { EXPECT_TENSOR_NEAR(balancing_offsets(rows.own(p), {}, rows), wanted, 1e-4); });
}

TEST(DividedAgreement, IsThatOfAllRows) {
  Tensor labels = target().labels();
  labels[2].narrow(0, 100, 50).fill_(-1);  // it abstains
  const Tensor other = labels.roll(1, 1);
  on_ranks([&](const RowBlock& rows) {
    const Tensor own = rows.own(labels, 1), own_other = rows.own(other, 1);
    EXPECT_EQ(agreement(own[0], own[2], rows), agreement(labels[0], labels[2]));
    EXPECT_EQ(cohens_kappa(own[0], own[2], kLabels, rows), cohens_kappa(labels[0], labels[2], kLabels));
    EXPECT_EQ(mutual_trust(own, kLabels, rows), mutual_trust(labels, kLabels));
    EXPECT_EQ(mean_agreement(own, rows), mean_agreement(labels));
    EXPECT_EQ(agrees_more(own_other, own, kLabels, false, rows), agrees_more(other, labels, kLabels));
    EXPECT_TENSOR_EQ(weights_from_agreement(own, kLabels, rows), weights_from_agreement(labels, kLabels));
    EXPECT_TENSOR_EQ(agreement_start(own, kLabels, rows), agreement_start(labels, kLabels));
    EXPECT_TRUE(is_better_supported(own[0], own_other[0], own, kLabels, rows));
    EXPECT_FALSE(is_better_supported(own_other[0], own[0], own, kLabels, rows));
    const Tensor difference = torch::linspace(-1, 2, kSamples);
    const PairedDifference wanted = paired_difference(difference);
    const PairedDifference found = paired_difference(rows.own(difference), rows);
    EXPECT_NEAR(found.mean, wanted.mean, 1e-9);
    EXPECT_NEAR(found.standard_error, wanted.standard_error, 1e-9);
  });
}

TEST(DividedScores, AreThoseOfAllRows) {
  const Tensor p = target().probabilities(), weights = torch::tensor({.5f, .3f, .2f});
  const LabelFreeScores wanted = label_free_scores(p, weights, kVoters);
  const double loss = information_loss(p).item<double>();
  on_ranks([&](const RowBlock& rows) {
    const LabelFreeScores found = label_free_scores(rows.own(p), weights, kVoters, rows);
    EXPECT_EQ(found.classes, wanted.classes);
    EXPECT_NEAR(found.entropy, wanted.entropy, 1e-6);
    EXPECT_NEAR(found.marginal_entropy, wanted.marginal_entropy, 1e-6);
    EXPECT_NEAR(information_loss(rows.own(p), kEntropyEpsilon, kEntropyEpsilon, rows).item<double>(), loss, 1e-6);
  });
}

TEST(DividedNeighbours, AreFoundAmongAllRows) {
  const std::vector<Tensor> features = {target().features, target().features.square()};
  const Tensor shares = torch::tensor({.6f, .4f}), score = target().probabilities();
  const Tensor neighbours = joint_neighbours(features, shares, 4);
  const Tensor average = neighbour_average(score, neighbours, 0.5);
  on_ranks([&](const RowBlock& rows) {
    const Tensor found = joint_neighbours({rows.own(features[0]), rows.own(features[1])}, shares, 4, rows);
    EXPECT_TENSOR_EQ(found, rows.own(neighbours));
    EXPECT_TENSOR_NEAR(neighbour_average(rows.own(score), found, 0.5, rows), rows.own(average), 1e-6);
  });
}

}  // namespace
}  // namespace tributary

#include "tributary/adapt/aggregation.h"

#include "tests/support/tensors.h"
#include "tributary/adapt/information.h"

namespace tributary {
namespace {

Tensor some_logits(int64_t sources = 3) {
  return 2 * test::normals({sources, 40, 5}, 7);
}

class WeightGradient : public ::testing::TestWithParam<std::pair<MixtureSpace, WeightScale>> {};

TEST_P(WeightGradient, EqualsAutograd) {
  AggregationOptions options;
  std::tie(options.space, options.scale) = GetParam();
  const Tensor logits = some_logits().to(torch::kFloat64);
  const Tensor weights = torch::tensor({0.5, -0.2, 1.1}, torch::kFloat64).requires_grad_();
  const Tensor loss = information_loss(combine(logits, weighted_mixture(weights, options.space, options.scale)));
  loss.backward();
  const WeightLoss closed = weight_loss(logits, weights.detach(), options);
  EXPECT_NEAR(closed.value.item<double>(), loss.item<double>(), 1e-12);
  EXPECT_TENSOR_NEAR(closed.gradient, weights.grad(), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(EveryMixture, WeightGradient,
                         ::testing::Values(std::pair(MixtureSpace::kLogits, WeightScale::kFree),
                                           std::pair(MixtureSpace::kLogits, WeightScale::kFixed),
                                           std::pair(MixtureSpace::kProbabilities, WeightScale::kFree)));

TEST(Aggregation, StartsUniformOrNormal) {
  EXPECT_TENSOR_NEAR(initial_weights(4, WeightStart::kUniform, Random(1)), torch::full({4}, 0.25), 0);
  const Tensor normal = initial_weights(4, WeightStart::kNormal, Random(1));
  EXPECT_TENSOR_EQ(normal, initial_weights(4, WeightStart::kNormal, Random(1)));
  EXPECT_GT(test::distance(normal, initial_weights(4, WeightStart::kNormal, Random(2))), 0.1);
}

TEST(Aggregation, NormalisedWeightsUseTheMagnitudeOfTheRawOnes) {
  EXPECT_TENSOR_NEAR(normalised_weights(torch::tensor({-1.0, 3.0})), torch::tensor({0.25, 0.75}), 1e-5);
}

TEST(Aggregation, LowersTheLossAndTrustsTheInformativeSource) {
  // The first source is certain and diverse, the second predicts the same for every sample.
  Tensor logits = torch::zeros({2, 50, 5});
  for (int64_t i = 0; i < 50; ++i) logits[0][i][i % 5] = 3;
  logits[1].select(1, 0) = 1;
  AggregationOptions options;
  options.steps = 200;
  const Tensor start = initial_weights(2, options.start, Random(0));
  const Tensor end = optimise_weights(logits, start, options);
  EXPECT_LT(weight_loss(logits, end, options).value.item<double>(),
            weight_loss(logits, start, options).value.item<double>());
  EXPECT_GT(end[0].item<double>(), 3 * end[1].abs().item<double>());
}

// Both implementations of the 2,000 steps. The third source contradicts the first, and its weight ends near zero, where
// |w| has a kink.
TEST(Aggregation, ScalarLoopMatchesTensorOperations) {
  for (const int64_t samples : {40, 700}) {
    Tensor logits = 2 * test::normals({4, samples, 5}, 3);
    logits[0] += 2 * logits[1];
    logits[2] = -0.5 * logits[0];
    const AggregationOptions options;
    Tensor w = initial_weights(4, options.start, Random(0));
    for (int64_t i = 0; i < options.steps; ++i) w.sub_(weight_loss(logits, w, options).gradient, options.rate);
    EXPECT_TENSOR_NEAR(optimise_weights(logits, initial_weights(4, options.start, Random(0)), options).abs(), w.abs(),
                       1e-3);
    EXPECT_LT(w.abs()[2].item<double>(), 0.05);
  }
}

TEST(Aggregation, CollapsesToOneSourceInProbabilitySpace) {
  // The loss is concave along the simplex.
  AggregationOptions options;
  options.space = MixtureSpace::kProbabilities;
  options.steps = 4000;
  const Tensor weights = optimise_weights(3 * some_logits(), initial_weights(3, options.start, Random(0)), options);
  EXPECT_GT(normalised_weights(weights).max().item<double>(), 0.9);
}

TEST(Aggregation, KeepsTheWeightsIfLearningIsOff) {
  AggregationOptions options;
  options.learn = false;
  EXPECT_TENSOR_EQ(optimise_weights(some_logits(), torch::full({3}, 1.f / 3), options), torch::full({3}, 1.f / 3));
}

TEST(Aggregation, FixedScaleSumsToTheNumberOfSources) {
  const Mixture mixture = weighted_mixture(torch::tensor({0.1, 0.2, 0.1}), MixtureSpace::kLogits, WeightScale::kFixed);
  EXPECT_NEAR(mixture.weights.sum().item<double>(), 3, 1e-3);
}

TEST_P(WeightGradient, EqualsAutogradWithAClassPrior) {
  AggregationOptions options;
  std::tie(options.space, options.scale) = GetParam();
  const Tensor logits = some_logits().to(torch::kFloat64);
  const Tensor prior = torch::tensor({.6, .1, .1, .1, .1}, torch::kFloat64);
  const Tensor weights = torch::tensor({0.5, -0.2, 1.1}, torch::kFloat64).requires_grad_();
  const Tensor loss =
      information_loss_with_prior(combine(logits, weighted_mixture(weights, options.space, options.scale)), prior);
  loss.backward();
  const WeightLoss closed = weight_loss(logits, weights.detach(), options, prior);
  EXPECT_NEAR(closed.value.item<double>(), loss.item<double>(), 1e-12);
  EXPECT_TENSOR_NEAR(closed.gradient, weights.grad(), 1e-10);
}

TEST(AggregationWithPrior, ScalarLoopMatchesTensorOperations) {
  AggregationOptions options;
  options.steps = 300;
  const Tensor logits = some_logits(), prior = torch::tensor({.6f, .1f, .1f, .1f, .1f});
  const Tensor start = initial_weights(3, options.start, Random(0));
  Tensor wanted = start.clone();
  for (int64_t i = 0; i < options.steps; ++i)
    wanted.sub_(weight_loss(logits, wanted, options, prior).gradient, options.rate);
  const Tensor found = optimise_weights(logits, start, options, prior);
  EXPECT_TENSOR_NEAR(found, wanted, 1e-3);
  EXPECT_GT(test::distance(found, optimise_weights(logits, start, options)), 1e-2);
  EXPECT_TENSOR_NEAR(optimise_weights(logits, start, options, torch::full({5}, 0.2f)),
                     optimise_weights(logits, start, options), 1e-4)
      << "the uniform prior changes nothing";
}

TEST_P(WeightGradient, IntegerSampleWeightsEqualRepeatedRows) {
  AggregationOptions options;
  std::tie(options.space, options.scale) = GetParam();
  const Tensor logits = some_logits().to(torch::kFloat64);
  const Tensor weights = torch::tensor({0.5, -0.2, 1.1}, torch::kFloat64);
  // Every fourth row three times.
  const Tensor repeats = torch::ones({40}, torch::kInt64);
  repeats.slice(0, 0, 40, 4).fill_(3);
  const Tensor samples = repeats.to(torch::kFloat64) / repeats.to(torch::kFloat64).mean();
  const WeightLoss weighted = weight_loss(logits, weights, options, {}, samples);
  const WeightLoss repeated = weight_loss(logits.repeat_interleave(repeats, 1), weights, options);
  EXPECT_NEAR(weighted.value.item<double>(), repeated.value.item<double>(), 1e-12);
  EXPECT_TENSOR_NEAR(weighted.gradient, repeated.gradient, 1e-10);
}

TEST(AggregationWithSampleWeights, ScalarLoopMatchesTensorOperations) {
  AggregationOptions options;
  options.steps = 50;
  const Tensor logits = 2 * test::normals({3, 300, 5}, 11);
  const Tensor start = initial_weights(3, options.start, Random(0));
  const Tensor samples = torch::linspace(0.1, 1.9, 300);
  Tensor expected = start.clone();
  for (int64_t i = 0; i < options.steps; ++i)
    expected = expected - options.rate * weight_loss(logits, expected, options, {}, samples).gradient;
  EXPECT_TENSOR_NEAR(optimise_weights(logits, start, options, {}, samples), expected, 1e-4);
  EXPECT_GT(test::distance(expected, optimise_weights(logits, start, options)), 1e-3);
}

TEST_P(WeightGradient, EqualsAutogradWithGivenLabels) {
  AggregationOptions options;
  std::tie(options.space, options.scale) = GetParam();
  const Tensor logits = some_logits().to(torch::kFloat64);
  const GivenLabels given{torch::tensor({3, 17, 20}), torch::tensor({0, 4, 2})};
  const Tensor weights = torch::tensor({0.5, -0.2, 1.1}, torch::kFloat64).requires_grad_();
  const Tensor p = combine(logits, weighted_mixture(weights, options.space, options.scale));
  const Tensor right = p.index_select(0, given.index).gather(1, given.label.unsqueeze(1));
  const Tensor loss = information_loss(p) - right.log().mean();
  loss.backward();
  const WeightLoss closed = weight_loss(logits, weights.detach(), options, {}, {}, given);
  EXPECT_NEAR(closed.value.item<double>(), loss.item<double>(), 1e-12);
  EXPECT_TENSOR_NEAR(closed.gradient, weights.grad(), 1e-10);
}

TEST(AggregationWithGivenLabels, ScalarLoopMatchesTensorOperations) {
  AggregationOptions options;
  options.steps = 50;
  const Tensor logits = 2 * test::normals({3, 300, 5}, 11);
  const GivenLabels given{torch::tensor({1, 299}), torch::tensor({0, 3})};
  const Tensor start = initial_weights(3, options.start, Random(0));
  Tensor expected = start.clone();
  for (int64_t i = 0; i < options.steps; ++i)
    expected = expected - options.rate * weight_loss(logits, expected, options, {}, {}, given).gradient;
  EXPECT_TENSOR_NEAR(optimise_weights(logits, start, options, {}, {}, given), expected, 1e-4);
  EXPECT_GT(test::distance(expected, optimise_weights(logits, start, options)), 1e-3);
}

// Both sources are certain and diverse, so that information cannot tell them apart; two labels can.
TEST(AggregationWithGivenLabels, TrustTheSourceThatIsRight) {
  Tensor logits = torch::zeros({2, 50, 5});
  for (int64_t i = 0; i < 50; ++i) logits[0][i][i % 5] = logits[1][i][(i + 1) % 5] = 3;
  AggregationOptions options;
  options.steps = 200;
  const Tensor start = initial_weights(2, options.start, Random(0));
  const GivenLabels given{torch::tensor({0, 7}), torch::tensor({0, 2})};
  const Tensor blind = optimise_weights(logits, start, options);
  const Tensor told = optimise_weights(logits, start, options, {}, {}, given);
  EXPECT_NEAR(blind[0].item<double>(), blind[1].item<double>(), 1e-4);
  EXPECT_GT(told[0].item<double>(), 3 * told[1].abs().item<double>());
}

TEST(AgreementStart, FavoursSourcesThatAgree) {
  // Two equal sources and one that always says class 0: kappa 1, 0, 0.
  const Tensor labels = at::stack(
      {test::indices({0, 1, 2, 0, 1, 2}), test::indices({0, 1, 2, 0, 1, 2}), test::indices({0, 0, 0, 0, 0, 0})});
  // The third has the least weight 0.1 / 3: (0.5, 0.5, 0.0333) / 1.0333.
  EXPECT_TENSOR_NEAR(agreement_start(labels, 3), torch::tensor({15 / 31.0, 15 / 31.0, 1 / 31.0}), 1e-6);
}

TEST(AgreementStart, IsUniformWithoutAgreement) {
  const Tensor labels = at::stack({test::indices({0, 1, 0, 1}), test::indices({0, 0, 1, 1})});
  EXPECT_TENSOR_NEAR(agreement_start(labels, 2), torch::full({2}, 0.5), 1e-6);
  EXPECT_TENSOR_NEAR(agreement_start(labels.narrow(0, 0, 1), 2), torch::ones({1}), 0);
}

}  // namespace
}  // namespace tributary

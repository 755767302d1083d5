#include "tributary/bound/bound.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/tensors.h"
#include "tributary/bound/divergence.h"

namespace tributary {
namespace {

using test::indices;
using testing::Contains;
using testing::HasSubstr;

BoundSetting small_setting() {
  BoundSetting setting;
  setting.classes = 3;
  setting.width = 4;
  return setting;
}

// Six samples, five of them confident; too few for an estimate of the misalignment.
BoundInputs six_samples() {
  BoundInputs inputs;
  inputs.joint = test::normals({6, 2}, 1);
  inputs.label = indices({0, 1, 2, 0, 1, 2});
  inputs.mixture = indices({0, 1, 2, 0, 2, 0});                                                 // differs at 4 (and 5)
  inputs.source_label = at::stack({indices({0, 1, 2, 0, 1, 1}), indices({0, 1, 2, 1, 0, 0})});  // at 3 and 4 (and 5)
  inputs.confident = indices({1, 1, 1, 1, 1, 0}) == 1;
  return inputs;
}

// Two sources of 3 features each; a sample is confident where the first features of both sum to more than -0.5.
BoundInputs many_samples(int64_t count = 1000) {
  BoundInputs inputs;
  inputs.sources = {test::normals({count, 3}, 1), test::normals({count, 3}, 2)};
  inputs.label = torch::arange(count) % 3;
  inputs.mixture = inputs.label;
  inputs.source_label = at::stack({inputs.label, inputs.label});
  inputs.confident = inputs.sources[0].select(1, 0) + inputs.sources[1].select(1, 0) > -0.5;
  return inputs;
}

TEST(Bound, CountsDisagreementAmongConfidentSamplesOnly) {
  const BoundTerms terms = bound_terms(six_samples(), small_setting());
  EXPECT_DOUBLE_EQ(terms.source_disagreement, 2.0 / 10);   // two labels of two sources with five samples
  EXPECT_DOUBLE_EQ(terms.criteria_disagreement, 1.0 / 5);  // one of five
  EXPECT_DOUBLE_EQ(terms.mismatch, -std::log(1 - 0.2));
  EXPECT_FALSE(terms.mismatch_exact);
  EXPECT_FALSE(terms.sum_exact);
  EXPECT_EQ(terms.confident, 5);
}

TEST(Bound, AcceptsTheMixtureAsLabelsOrProbabilities) {
  BoundInputs inputs = six_samples();
  inputs.mixture = at::one_hot(inputs.mixture, 3).to(torch::kFloat32) * 0.4 + 0.2;
  EXPECT_DOUBLE_EQ(bound_terms(inputs, small_setting()).criteria_disagreement, 0.2);
}

TEST(Bound, HasTheExactMismatchWithLabels) {
  BoundInputs inputs = six_samples();
  inputs.truth = indices({0, 1, 1, 1, 1, 0});  // pseudo-labels 2 and 3 are wrong, and 5, which is not confident
  const BoundTerms terms = bound_terms(inputs, small_setting());
  EXPECT_DOUBLE_EQ(terms.label_error.value(), 0.4);
  EXPECT_DOUBLE_EQ(terms.mismatch_exact.value(), -std::log(0.6));
  EXPECT_DOUBLE_EQ(terms.mismatch, -std::log(0.8)) << "labels must not change the unsupervised estimate";
}

TEST(Bound, MismatchIsZeroForRightAndFiniteForWrongLabels) {
  EXPECT_EQ(mismatch_of(0, 10), 0);
  EXPECT_DOUBLE_EQ(mismatch_of(0.5, 10), std::log(2.0));
  EXPECT_NEAR(mismatch_of(1, 10), std::log(11.0), 1e-12);
}

TEST(Bound, SumIsTheRightHandSideOfTheTheorem) {
  BoundSetting setting = small_setting();
  setting.loss_bound = 2;
  BoundInputs inputs = six_samples();
  inputs.truth = inputs.label;
  const BoundTerms terms = bound_terms(inputs, setting);
  EXPECT_FALSE(terms.misalignment) << "six samples are too few";
  EXPECT_DOUBLE_EQ(terms.misalignment_cap, std::log(6.0 / 5));
  const double under_the_root = -std::log(0.8) + std::log(6.0 / 5);  // the cap replaces the missing estimate
  EXPECT_DOUBLE_EQ(terms.bias, 2 / std::sqrt(2.0) * std::sqrt(under_the_root));
  EXPECT_DOUBLE_EQ(terms.sum, terms.bias + terms.variance);
  EXPECT_DOUBLE_EQ(terms.sum_exact.value(), std::sqrt(2.0) * std::sqrt(std::log(6.0 / 5)) + terms.variance);
}

TEST(Bound, VarianceFallsWithTheRootOfTheConfidentCount) {
  BoundSetting setting = small_setting();  // 3 classes times 4 features
  EXPECT_DOUBLE_EQ(variance_term(setting, 100), std::sqrt((12 * std::log(3.0) + std::log(20.0)) / 100));
  EXPECT_DOUBLE_EQ(variance_term(setting, 400), variance_term(setting, 100) / 2);
  setting.capacity = 0;
  setting.delta = std::exp(-4.0);
  setting.constant = 3;
  EXPECT_NEAR(variance_term(setting, 100), 3 * 0.2, 1e-12);
}

TEST(Bound, VarianceOfASubsetUsesTheConfidentCountOfTheWholeSet) {
  BoundInputs inputs = six_samples();
  inputs.confident_total = 500;
  const BoundTerms terms = bound_terms(inputs, small_setting());
  EXPECT_DOUBLE_EQ(terms.variance, variance_term(small_setting(), 500));
  EXPECT_DOUBLE_EQ(terms.misalignment_cap, std::log(6.0 / 5));
}

TEST(Bound, MisalignmentOfTheSourcesIsBelowThatOfTheJointSpace) {
  // Remark 1, Eq. 5. The selection is a function of the joint features but not of those of any single source.
  const BoundTerms terms = bound_terms(many_samples(), small_setting());
  EXPECT_GT(terms.misalignment.value(), 0.8 * terms.misalignment_cap);
  EXPECT_LE(terms.misalignment.value(), terms.misalignment_cap);
  EXPECT_LT(terms.misalignment_sources.value(), 0.7 * terms.misalignment.value());
  EXPECT_GT(terms.misalignment_sources.value(), 0.05);
}

TEST(Bound, AcceptsProjectedJointFeaturesInsteadOfSources) {
  BoundInputs inputs = many_samples();
  inputs.joint = at::cat(inputs.sources, 1);
  const BoundTerms both = bound_terms(inputs, small_setting());
  inputs.sources.clear();
  const BoundTerms alone = bound_terms(inputs, small_setting());
  EXPECT_EQ(both.misalignment, alone.misalignment);
  EXPECT_TRUE(both.misalignment_sources);
  EXPECT_FALSE(alone.misalignment_sources);
}

TEST(Bound, MisalignmentIsZeroIfAllAreConfident) {
  BoundInputs inputs = many_samples(100);
  inputs.confident.fill_(true);
  const BoundTerms terms = bound_terms(inputs, small_setting());
  EXPECT_EQ(terms.misalignment, 0);
  EXPECT_EQ(terms.misalignment_sources, 0);
  EXPECT_EQ(terms.misalignment_cap, 0);
  EXPECT_EQ(terms.bias, 0);
}

TEST(Bound, DoesNotDependOnTheSampleOrder) {
  BoundInputs inputs = many_samples(400);
  inputs.truth = (inputs.label + (torch::arange(400) % 7 == 0).to(torch::kInt64)) % 3;
  const BoundTerms terms = bound_terms(inputs, small_setting());
  const Tensor order = torch::tensor(Random(3).permutation(400), torch::kInt64);
  BoundInputs shuffled = inputs;
  for (Tensor* tensor : {&shuffled.sources[0], &shuffled.sources[1], &shuffled.label, &shuffled.mixture,
                         &shuffled.confident, &shuffled.truth})
    *tensor = tensor->index_select(0, order);
  shuffled.source_label = inputs.source_label.index_select(1, order);
  for (const BoundTerms& other : {bound_terms(inputs, small_setting()), bound_terms(shuffled, small_setting())}) {
    EXPECT_EQ(terms.misalignment, other.misalignment);
    EXPECT_EQ(terms.misalignment_sources, other.misalignment_sources);
    EXPECT_DOUBLE_EQ(terms.mismatch_exact.value(), other.mismatch_exact.value());
    EXPECT_DOUBLE_EQ(terms.sum, other.sum);
  }
}

TEST(Bound, NotesStateTheAssumptions) {
  BoundSetting setting = small_setting();
  setting.classes = 31;
  setting.width = 512;
  EXPECT_THAT(setting.notes(), Contains(HasSubstr("31 classes times 512 joint features = 15,872")));
  EXPECT_THAT(setting.notes(), Contains(HasSubstr("M = 1, and may fail with probability 0.05.")));
  setting.capacity = 40;
  EXPECT_THAT(setting.notes(), Contains(HasSubstr("(Natarajan dimension) of 40, as set")));
}

}  // namespace
}  // namespace tributary

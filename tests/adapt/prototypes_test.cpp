#include "tributary/adapt/prototypes.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

TEST(Prototypes, KernelsGiveKnownPosteriors) {
  // phi = 0, prototypes 0 and 2.
  const Tensor phi = torch::zeros({1, 1});
  const Tensor eta = torch::tensor({0.f, 2.f}).view({2, 1});
  PrototypeOptions options;
  EXPECT_NEAR(prototype_posterior(phi, eta, options)[0][0].item<double>(), 0.549834, 1e-6);
  options.kernel = PrototypeKernel::kNorm;
  EXPECT_NEAR(prototype_posterior(phi, eta, options)[0][0].item<double>(), 0.880797, 1e-6);
}

TEST(Prototypes, AreMeansOverTheLabelledSamples) {
  const Tensor features = torch::tensor({1.f, 3.f, 10.f, 99.f}).view({4, 1});
  const Tensor label = test::indices({0, 0, 1, -1});
  const Tensor eta = class_prototypes(features, label, torch::full({4, 2}, 0.5), EmptyClass::kWeighted);
  EXPECT_TENSOR_NEAR(eta, torch::tensor({2.f, 10.f}).view({2, 1}), 1e-6);
}

TEST(Prototypes, OfAnEmptyClassAreWeightedMeanOrZero) {
  const Tensor features = torch::tensor({1.f, 3.f}).view({2, 1});
  const Tensor probabilities = torch::tensor({0.5f, 0.25f, 0.5f, 0.75f}).view({2, 2});
  const Tensor label = test::indices({0, 0});
  const Tensor weighted = class_prototypes(features, label, probabilities, EmptyClass::kWeighted);
  EXPECT_NEAR(weighted[1][0].item<double>(), (0.25 * 1 + 0.75 * 3) / 1.0, 1e-6);
  EXPECT_EQ(class_prototypes(features, label, probabilities, EmptyClass::kZero)[1][0].item<double>(), 0);
}

TEST(Prototypes, SecondPassCorrectsALabelAndIgnoresUnlabelledSamples) {
  // Two distant clusters; sample 2 is in the first cluster but labelled as the second.
  const Tensor features = torch::tensor({0.f, 0.1f, 0.2f, 10.f, 10.1f, 50.f}).view({6, 1});
  const Tensor label = test::indices({0, 0, 1, 1, 1, -1});
  const Tensor probabilities = torch::full({6, 2}, 0.5);
  PrototypeOptions once, twice;
  once.passes = 1;
  const Tensor q1 = refined_posterior(features, label, probabilities, once);
  const Tensor q2 = refined_posterior(features, label, probabilities, twice);
  // Refined prototypes are 0.1 and 10.05; the unlabelled 50 is ignored.
  const Tensor eta = torch::tensor({0.1f, 10.05f}).view({2, 1});
  EXPECT_TENSOR_NEAR(q2, prototype_posterior(features, eta, twice), 1e-5);
  EXPECT_GT(q2[2][0].item<double>(), q1[2][0].item<double>());
  EXPECT_TENSOR_EQ(label, test::indices({0, 0, 1, 1, 1, -1}));
}

TEST(Prototypes, OfUnknownClassesHaveNoVote) {
  const Tensor features = torch::tensor({0.f, 0.2f, 4.f, 4.2f, 8.f}).view({5, 1});
  const Tensor label = test::indices({0, 0, 1, 1, 2});
  const Tensor known = torch::tensor({true, true, false});
  const Tensor posterior = refined_posterior(features, label, torch::full({5, 3}, 1.0 / 3), {}, known);
  EXPECT_EQ(posterior.select(1, 2).abs().max().item<double>(), 0);
  EXPECT_TENSOR_NEAR(posterior.sum(1), torch::ones({5}), 1e-6);
  EXPECT_GT(posterior[4][1].item<double>(), 0.5) << "out of the classes that the source knows";
  // The other source's posterior decides on class 2.
  const Tensor other = torch::tensor({.8f, .1f, .1f}).expand({5, 3});
  const Tensor both =
      complete_posteriors(at::stack({posterior, other}), torch::stack({known, torch::ones({3}, torch::kBool)}));
  EXPECT_TENSOR_NEAR(both[1], other, 1e-5);
  EXPECT_TENSOR_NEAR(both.sum(-1), torch::ones({2, 5}), 1e-5);
}

}  // namespace
}  // namespace tributary

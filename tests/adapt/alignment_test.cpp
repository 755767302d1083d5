#include "tributary/adapt/alignment.h"

#include "tests/support/tensors.h"

namespace tributary {
namespace {

constexpr int64_t kSources = 3;
constexpr int64_t kWidth = 4;

struct Features {
  std::vector<Tensor> confident, unconfident;
};

Features some_features() {
  Features features;
  for (uint64_t j = 0; j < kSources; ++j) {
    features.confident.push_back(test::normals({5, kWidth}, 10 + j).requires_grad_());
    features.unconfident.push_back(test::normals({6, kWidth}, 20 + j).requires_grad_());
  }
  return features;
}

Tensor bce(const Tensor& logit, double label) {
  return at::binary_cross_entropy_with_logits(logit, torch::full_like(logit, label));
}

struct Gradients {
  std::vector<Tensor> confident, unconfident;
};

// Autograd gradients through the joint features, for the current parameters of d: of L_adv, or of d's own loss.
Gradients autograd_gradients(const Adversary& adversary, bool of_discriminator) {
  const Features features = some_features();
  const Tensor a_l = adversary.logit(at::cat(features.confident, 1));
  const Tensor a_u = adversary.logit(at::cat(features.unconfident, 1));
  const double label = of_discriminator ? 1 : 0;
  (0.5 * (bce(a_l, label) + bce(a_u, 1 - label))).backward();
  Gradients gradients;
  for (int64_t j = 0; j < kSources; ++j) {
    gradients.confident.push_back(features.confident[j].grad());
    gradients.unconfident.push_back(features.unconfident[j].grad());
  }
  return gradients;
}

TEST(Alignment, GivesEverySourceTheGradientOnce) {
  // By default the features see the updated d.
  Adversary adversary(kSources * kWidth, {}, Random(5));
  const Features features = some_features();
  const AlignmentStep step = adversary.step(features.confident, features.unconfident);
  const Gradients expected = autograd_gradients(adversary, false);
  for (int64_t j = 0; j < kSources; ++j) {
    EXPECT_TENSOR_NEAR(step.confident_gradient[j], expected.confident[j], 1e-7);
    EXPECT_TENSOR_NEAR(step.unconfident_gradient[j], expected.unconfident[j], 1e-7);
    EXPECT_FALSE(features.confident[j].grad().defined()) << "d's step must not touch the sources";
    EXPECT_FALSE(features.unconfident[j].grad().defined());
  }
}

TEST(Alignment, ReleasedCodeRepeatsTheLossAndLeaksTheDiscriminators) {
  // (m - j) grad L_adv + grad L_inv, all at the old d.
  AlignmentOptions options;
  options.alternation = Alternation::kSimultaneous;
  options.copies = AdversarialCopies::kDescending;
  options.leak = true;
  Adversary adversary(kSources * kWidth, options, Random(5));
  const Gradients adversarial = autograd_gradients(adversary, false);
  const Gradients own = autograd_gradients(adversary, true);
  const Features features = some_features();
  const AlignmentStep step = adversary.step(features.confident, features.unconfident);
  for (int64_t j = 0; j < kSources; ++j) {
    const auto copies = static_cast<double>(kSources - j);
    EXPECT_TENSOR_NEAR(step.confident_gradient[j], copies * adversarial.confident[j] + own.confident[j], 1e-7);
    EXPECT_TENSOR_NEAR(step.unconfident_gradient[j], copies * adversarial.unconfident[j] + own.unconfident[j], 1e-7);
  }
}

TEST(Alignment, CopiesAreOneAllOrDescending) {
  EXPECT_EQ(adversarial_copies(AdversarialCopies::kOnce, 2, 3), 1);
  EXPECT_EQ(adversarial_copies(AdversarialCopies::kEvery, 2, 3), 3);
  EXPECT_EQ(adversarial_copies(AdversarialCopies::kDescending, 0, 3), 3);
  EXPECT_EQ(adversarial_copies(AdversarialCopies::kDescending, 2, 3), 1);
}

TEST(Alignment, DiscriminatorLearnsToTellTheSetsApart) {
  AlignmentOptions options;
  options.rate = 0.1;
  Adversary adversary(2, options, Random(1));
  const std::vector<Tensor> confident = {torch::full({8, 2}, 1.f)};
  const std::vector<Tensor> unconfident = {torch::full({8, 2}, -1.f)};
  const double first = adversary.step(confident, unconfident).discriminator_loss.item<double>();
  for (int i = 0; i < 100; ++i) adversary.step(confident, unconfident);
  EXPECT_LT(adversary.step(confident, unconfident).discriminator_loss.item<double>(), first / 2);
}

TEST(Alignment, MinimaxNegatesTheDiscriminatorsLoss) {
  AlignmentOptions options;
  options.objective = FeatureObjective::kMinimax;
  options.alternation = Alternation::kSimultaneous;
  Adversary adversary(kSources * kWidth, options, Random(5));
  const Features features = some_features();
  const AlignmentStep step = adversary.step(features.confident, features.unconfident);
  EXPECT_EQ(step.adversarial_loss.item<double>(), -step.discriminator_loss.item<double>());
}

TEST(Alignment, DoubleSigmoidBoundsTheLoss) {
  // Choice A1: 0.5 (l + u) with logits in [0, 1] lies within [0.313, 1.313], which bounds the loss.
  AlignmentOptions options;
  options.output = DiscriminatorOutput::kDoubleSigmoid;
  Adversary adversary(kWidth, options, Random(5));
  const Tensor logit = adversary.logit(1000 * test::normals({50, kWidth}, 3));
  EXPECT_GE(logit.min().item<double>(), 0);
  EXPECT_LE(logit.max().item<double>(), 1);
}

}  // namespace
}  // namespace tributary

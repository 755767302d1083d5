#include "tributary/methods/ma/virtual_adversarial.h"

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

// A linear model of two classes, logits (u.x, 0).
struct LinearModel {
  Tensor u = test::normals({6}, 3);
  Tensor operator()(const Tensor& x) const {
    const Tensor first = at::mv(x, u);
    return at::stack({first, torch::zeros_like(first)}, 1);
  }
};

constexpr double kRadius = 3.5;

Tensor change_of(const LinearModel& model, const Tensor& x) {
  return virtual_adversarial_change(x, model(x), test::normals(x.sizes(), 5), {0.1, kRadius, false}, model);
}

// Calls compare(divergence, other, i) for rows i and random perturbations `other` of the same norm, with
// divergence(perturbation) at that row.
template <typename Compare>
void with_random_changes(const LinearModel& model, const Tensor& x, Compare compare) {
  for (uint64_t seed = 10; seed < 20; ++seed) {
    const Tensor random = test::normals(x.sizes(), seed);
    const Tensor other = random / random.norm(2, {1}, true) * kRadius;
    for (int64_t i = 0; i < x.size(0); ++i) {
      const Tensor row = x.narrow(0, i, 1);
      const auto divergence = [&](const Tensor& change) {
        return prediction_divergence(model(row), model(row + change)).item<double>();
      };
      compare(divergence, other[i], i);
    }
  }
}

TEST(VirtualAdversarial, FindsTheGradientDirectionOfALinearModel) {
  const LinearModel model;
  const Tensor x = test::normals({20, 6}, 4) * 0.3;
  const Tensor r = change_of(model, x);
  EXPECT_FALSE(r.requires_grad());
  EXPECT_TENSOR_NEAR(r.norm(2, {1}), torch::full({20}, kRadius), 1e-4);
  const Tensor cosine = at::mv(r, model.u) / (kRadius * model.u.norm());
  EXPECT_TENSOR_NEAR(cosine.abs(), torch::ones({20}), 1e-3);
  // The model is symmetric except for the curvature of the softmax. Power iteration does not always find the worse
  // sign, so check both.
  with_random_changes(model, x, [&](const auto& divergence, const Tensor& other, int64_t i) {
    EXPECT_GE(std::max(divergence(r[i]), divergence(-r[i])), divergence(other) - 1e-6);
  });
}

// If the model is undecided, both signs are equally bad.
TEST(VirtualAdversarial, IsTheWorstPerturbationOfItsNorm) {
  const LinearModel model;
  const Tensor any = test::normals({20, 6}, 4);
  const Tensor x = any - at::outer(at::mv(any, model.u), model.u) / model.u.square().sum();
  const Tensor r = change_of(model, x);
  with_random_changes(model, x, [&](const auto& divergence, const Tensor& other, int64_t i) {
    EXPECT_GE(divergence(r[i]), divergence(other) - 1e-6);
  });
}

TEST(VirtualAdversarial, RadiusCanBeRelativeToTheSample) {
  const LinearModel model;
  const Tensor x = test::normals({5, 6}, 4);
  const Tensor r = virtual_adversarial_change(x, model(x), test::normals({5, 6}, 5), {0.1, 0.1, true}, model);
  EXPECT_TENSOR_NEAR(r.norm(2, {1}), 0.1 * x.norm(2, {1}), 1e-5);
}

TEST(VirtualAdversarial, TreatsSamplesSeparately) {
  const LinearModel model;
  const auto predict = [&](const Tensor& x) { return model(x.flatten(1).narrow(1, 0, 6)); };
  const Tensor x = test::normals({3, 3, 4, 4}, 6);
  const Tensor r = virtual_adversarial_change(x, predict(x), test::normals({3, 3, 4, 4}, 7), {}, predict);
  EXPECT_EQ(r.sizes(), x.sizes());
  EXPECT_TENSOR_NEAR(r.flatten(1).norm(2, {1}), torch::full({3}, 3.5), 1e-4);
}

TEST(VirtualAdversarial, IsZeroIfThePredictionIsConstant) {
  const auto deaf = [](const Tensor& x) { return x.narrow(1, 0, 4) * 0; };
  const Tensor x = test::normals({3, 6}, 6);
  EXPECT_TENSOR_EQ(virtual_adversarial_change(x, deaf(x), test::normals({3, 6}, 7), {}, deaf), torch::zeros({3, 6}));
}

TEST(ClusteringLoss, IsLogKForUniformAndZeroForCertainPredictions) {
  const Tensor even = torch::full({4, 10}, 0.7);
  EXPECT_NEAR(prediction_entropy(even).item<double>(), std::log(10), 1e-6);
  EXPECT_NEAR(prediction_divergence(even, even).item<double>(), 0, 1e-7);
  const Tensor certain = torch::eye(10) * 1000;
  EXPECT_EQ(prediction_entropy(certain).item<double>(), 0);
  EXPECT_EQ(prediction_divergence(certain, certain).item<double>(), 0);
}

TEST(ClusteringLoss, MatchesHandComputedDivergence) {
  const auto logits = [](double p) { return torch::tensor({{std::log(p), std::log(1 - p)}}); };
  EXPECT_NEAR(prediction_divergence(logits(0.5), logits(0.25)).item<double>(),
              0.5 * std::log(2) + 0.5 * std::log(2. / 3), 1e-6);
  EXPECT_NEAR(prediction_entropy(logits(0.25)).item<double>(), 0.25 * std::log(4) + 0.75 * std::log(4. / 3), 1e-6);
}

}  // namespace
}  // namespace tributary

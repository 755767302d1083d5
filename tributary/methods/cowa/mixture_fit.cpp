#include "tributary/methods/cowa/mixture_fit.h"

#include <cmath>

#include "tributary/adapt/feature_rows.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

// The normalising constant of a density with this factor, [].
Tensor log_constant(const Tensor& lower) {
  return -0.5 * static_cast<double>(lower.size(0)) * std::log(2 * M_PI) - lower.diagonal().log().sum();
}

// L^-1 v for every row v: [r, d].
Tensor whitened(const Tensor& lower, const Tensor& v) {
  return at::linalg_solve_triangular(lower, v.t(), /*upper=*/false).t();
}

// Calls work(begin, end, rows) for blocks of rows.
template <typename Work>
void for_blocks(const MixtureRows& rows, const Work& work) {
  for_row_blocks(rows.size(), 4 * rows.width(),
                 [&](int64_t begin, int64_t end) { work(begin, end, rows.block(begin, end)); });
}

// Masses, means and live classes for weights double [n, K].
MixtureFit moments(const MixtureRows& rows, const Tensor& weights) {
  MixtureFit fit;
  fit.mass = weights.sum(0);
  if (!fit.mass.isfinite().all().item<bool>())
    work_error("the predictions on the target set are not finite; try smaller learning rates");
  fit.live = fit.mass >= kDeadMass;
  fit.means = torch::zeros({weights.size(1), rows.width()}, weights.options());
  for_blocks(rows, [&](int64_t begin, int64_t end, const Tensor& x) {
    fit.means.addmm_(weights.slice(0, begin, end).t(), x);
  });
  fit.means.div_(at::where(fit.live, fit.mass, at::ones_like(fit.mass)).unsqueeze(1));
  return fit;
}

// Adds ln pi_k and drops the classes that are not live.
void finish(MixtureFit& fit) {
  fit.log_density.add_(fit.mass.log()).masked_fill_(fit.live.logical_not(), -INFINITY);
}

}  // namespace

Tensor MixtureRows::block(int64_t begin, int64_t end) const {
  constexpr double kShortest = 1e-12;
  const Tensor x = features.slice(0, begin, end).to(device).to(torch::kFloat64);
  return normalised ? x / x.norm(2, /*dim=*/1, /*keepdim=*/true).clamp_min(kShortest) : x;
}

MixtureFit first_fit(const MixtureRows& rows, const Tensor& probabilities, double epsilon) {
  torch::NoGradGuard no_grad;
  const Tensor weights = probabilities.to(torch::kFloat64);
  MixtureFit fit = moments(rows, weights);
  Tensor centre = torch::zeros({rows.width()}, weights.options());
  for_blocks(rows, [&](int64_t, int64_t, const Tensor& x) { centre.add_(x.sum(0)); });
  centre.div_(static_cast<double>(rows.size()));
  const Tensor total = weighted_covariance(rows, torch::ones({rows.size()}, weights.options()), centre);
  if (!total.isfinite().all().item<bool>())
    work_error("the features of the target set are not finite; try smaller learning rates");
  const auto [lower, jitter] = factorise(total, epsilon);
  fit.jitter = jitter;

  // With D_k = L^-1 d_k and y = L^-1 (x - centre): the distance in A = S + eps I is |y + D_k|^2, the product v . u_k of
  // the rank-one correction is y . D_k + |D_k|^2, and s_k = 1 + |D_k|^2.
  const Tensor shift = whitened(lower, centre - fit.means);
  const Tensor length = shift.square().sum(1);
  const Tensor s = 1 + length;
  const Tensor constant = log_constant(lower) - 0.5 * s.log();
  fit.log_density = torch::empty({rows.size(), weights.size(1)}, weights.options());
  for_blocks(rows, [&](int64_t begin, int64_t end, const Tensor& x) {
    const Tensor y = whitened(lower, x - centre);
    const Tensor product = at::mm(y, shift.t());
    const Tensor distance =
        y.square().sum(1, /*keepdim=*/true) + 2 * product + length - (product + length).square() / s;
    fit.log_density.slice(0, begin, end).copy_(constant - 0.5 * distance);
  });
  finish(fit);
  return fit;
}

MixtureFit refit(const MixtureRows& rows, const Tensor& responsibilities, double epsilon) {
  torch::NoGradGuard no_grad;
  MixtureFit fit = moments(rows, responsibilities);
  fit.jitter = epsilon;
  fit.log_density = torch::zeros_like(responsibilities);
  const Tensor live = fit.live.cpu();
  for (int64_t k = 0; k < responsibilities.size(1); ++k) {
    if (!live[k].item<bool>()) continue;
    const Tensor mean = fit.means[k];
    const auto [lower, jitter] = factorise(weighted_covariance(rows, responsibilities.select(1, k), mean), epsilon);
    fit.jitter = std::max(fit.jitter, jitter);
    fit.log_density.select(1, k).copy_(log_gaussian(rows, mean, lower));
  }
  finish(fit);
  return fit;
}

Tensor weighted_covariance(const MixtureRows& rows, const Tensor& weights, const Tensor& mean) {
  constexpr double kNegligible = 1e-12;
  Tensor sum = torch::zeros({rows.width(), rows.width()}, mean.options());
  for_blocks(rows, [&](int64_t begin, int64_t end, const Tensor& x) {
    const Tensor weight = weights.slice(0, begin, end);
    const Tensor counts = weight.ge(kNegligible).nonzero().view({-1});
    const Tensor away = x.index_select(0, counts) - mean;
    sum.addmm_((away * weight.index_select(0, counts).unsqueeze(1)).t(), away);
  });
  return sum / weights.sum();
}

Tensor log_gaussian(const MixtureRows& rows, const Tensor& mean, const Tensor& lower) {
  Tensor density = torch::empty({rows.size()}, mean.options());
  const Tensor constant = log_constant(lower);
  for_blocks(rows, [&](int64_t begin, int64_t end, const Tensor& x) {
    density.slice(0, begin, end).copy_(constant - 0.5 * whitened(lower, x - mean).square().sum(1));
  });
  return density;
}

CovarianceFactor factorise(const Tensor& covariance, double epsilon) {
  constexpr double kLargest = 1e-2;
  const Tensor one = at::eye(covariance.size(0), covariance.options());
  double jitter = epsilon;
  while (jitter <= kLargest * (1 + 1e-9)) {
    const auto [lower, info] = at::linalg_cholesky_ex(covariance + jitter * one);
    if (info.item<int>() == 0 && lower.isfinite().all().item<bool>()) return {lower, jitter};
    jitter *= 10;
  }
  work_error("the covariance of a class cannot be factorised, not even with {} on its diagonal", kLargest);
}

}  // namespace tributary

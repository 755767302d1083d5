#include "tributary/bound/discriminator.h"

#include <algorithm>
#include <cmath>

namespace tributary {
namespace {

constexpr double kMaxScore = 30;  // nats: clamps quadratic scores, so that outliers do not dominate
constexpr double kTiny = 1e-6;
constexpr int64_t kCentreScores = 5;

// Weight of the isotropic target when shrinking a covariance; vanishes with many samples.
double shrinkage(int64_t samples, int64_t width) {
  const double ratio = static_cast<double>(width) / static_cast<double>(samples + width);
  return ratio * ratio;
}

Tensor identity(int64_t width) {
  return torch::eye(width, torch::kFloat64);
}

Tensor covariance(const Tensor& centred) {
  return centred.t().matmul(centred) / static_cast<double>(std::max<int64_t>(centred.size(0) - 1, 1));
}

// Standard deviation per column; 1 for constant columns.
Tensor column_scale(const Tensor& samples) {
  const Tensor deviation = samples.std(0, /*unbiased=*/false);
  return at::where(deviation > 0, deviation, torch::ones_like(deviation));
}

Tensor quadratic_form(const Tensor& centred, const Tensor& matrix) {
  return (centred.matmul(matrix) * centred).sum(1);
}

}  // namespace

TwoSets TwoSets::rows(const Tensor& index) const {
  return {features.index_select(0, index), first.index_select(0, index),
          group.defined() ? group.index_select(0, index) : Tensor()};
}

Discriminator::Discriminator(const TwoSets& training) : grouped_(training.group.defined()) {
  const int64_t width = training.features.size(1);
  const Tensor a = training.features.index({training.first});
  const Tensor b = training.features.index({training.first.logical_not()});
  origin_ = training.features.mean(0);
  const Tensor within = at::cat({a - a.mean(0), b - b.mean(0)});
  const Tensor scale = column_scale(within);
  const double alpha = shrinkage(within.size(0), width);
  const Tensor common = (1 - alpha) * covariance(within / scale) + alpha * identity(width);
  whitening_ = at::linalg_inv(at::linalg_cholesky(common)).t() / scale.unsqueeze(1);
  first_ = moments_of((a - origin_).matmul(whitening_));
  second_ = moments_of((b - origin_).matmul(whitening_));
  outstanding_ = outstanding_directions(first_, a.size(0));
  if (grouped_) centres_ = centres_of(training);
}

Discriminator::Moments Discriminator::moments_of(const Tensor& samples) {
  const int64_t width = samples.size(1);
  Moments moments;
  moments.mean = samples.mean(0);
  const Tensor own = covariance(samples - moments.mean);
  moments.spread = own.trace().item<double>() / static_cast<double>(width) + kTiny;
  const double alpha = shrinkage(samples.size(0), width);
  moments.covariance = (1 - alpha) * own + (alpha * moments.spread + kTiny) * identity(width);
  moments.precision = at::linalg_inv(moments.covariance);
  return moments;
}

Tensor Discriminator::outstanding_directions(const Moments& moments, int64_t samples) {
  const auto [variance, direction] = at::linalg_eigh(moments.covariance);
  const double noise = std::sqrt(static_cast<double>(variance.size(0)) / static_cast<double>(samples));
  const double low = moments.spread * std::pow(std::max(1 - noise, 0.0), 2),
               high = moments.spread * std::pow(1 + noise, 2);
  return direction.index_select(1, ((variance < low) | (variance > high)).nonzero().squeeze(1));
}

std::optional<Discriminator::Centres> Discriminator::centres_of(const TwoSets& training) {
  const Tensor known = training.group.ge(0).nonzero().squeeze(1);
  if (known.size(0) == 0) return {};
  const TwoSets labelled = training.rows(known);
  const Tensor of = std::get<1>(at::_unique(labelled.group, /*sorted=*/true, /*return_inverse=*/true));
  const Tensor member = at::one_hot(of).to(torch::kFloat64);  // [n, g]
  if (member.size(1) < 2) return {};
  const Tensor count = member.sum(0);
  Centres centres;
  centres.mean = member.t().matmul(labelled.features) / count.unsqueeze(1);
  const Tensor distance = (labelled.features - centres.mean.index_select(0, of)).square().sum(1);
  centres.unit = std::max(distance.mean().item<double>(), kTiny);
  // Add two pseudo-samples with the overall composition to every group, to smooth the odds of small groups.
  const double share = training.first.to(torch::kFloat64).mean().item<double>();
  const Tensor of_first = member.t().matmul(labelled.first.to(torch::kFloat64));
  centres.log_odds = ((of_first + 2 * share) / (count - of_first + 2 * (1 - share))).log();
  return centres;
}

Tensor Discriminator::quadratic_scores(const Tensor& features) const {
  const Tensor y = (features - origin_).matmul(whitening_);
  const Tensor from_first = y - first_.mean;
  const Tensor from_second = y - second_.mean;
  const Tensor full = quadratic_form(from_second, second_.precision) - quadratic_form(from_first, first_.precision);
  const Tensor round = from_second.square().sum(1) / second_.spread - from_first.square().sum(1) / first_.spread;
  const auto along = [&](const Tensor& centred, const Moments& moments) {
    const Tensor variance = (moments.covariance.matmul(outstanding_) * outstanding_).sum(0);
    return (centred.matmul(outstanding_).square() / variance).sum(1);
  };
  const Tensor few = along(from_second, second_) - along(from_first, first_);
  const Tensor straight = (y - (first_.mean + second_.mean) / 2).matmul(first_.mean - second_.mean);
  return at::stack({full / 2, few / 2, round / 2, straight}, 1).clamp(-kMaxScore, kMaxScore);
}

Tensor Discriminator::centre_scores(const Tensor& features) const {
  if (!grouped_) return torch::empty({features.size(0), 0}, torch::kFloat64);
  if (!centres_) return torch::zeros({features.size(0), kCentreScores}, torch::kFloat64);
  const Tensor squared = at::cdist(features, centres_->mean).square() / centres_->unit;
  const auto [nearest, which] = squared.topk(2, 1, /*largest=*/false);
  const Tensor radius = nearest.select(1, 0);
  const Tensor margin = nearest.select(1, 1) - radius;
  const Tensor log_odds = centres_->log_odds.index_select(0, which.select(1, 0));
  return at::stack({-radius, -radius.sqrt(), margin, margin.sqrt(), log_odds}, 1);
}

Tensor Discriminator::scores(const Tensor& features) const {
  return at::cat({quadratic_scores(features), centre_scores(features)}, 1);
}

}  // namespace tributary

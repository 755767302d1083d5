#include "tributary/bound/divergence.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "tributary/base/error.h"
#include "tributary/base/random.h"
#include "tributary/bound/discriminator.h"

namespace tributary {
namespace {

// Two folds fit on half of the samples, five folds on four fifths.
constexpr int64_t kFewFolds = 2, kManyFolds = 5;
constexpr double kMaxExtrapolation = 2;  // largest ratio of extrapolated to held-out estimate

// Result of one cross-validation, before clamping.
struct Pass {
  double value = 0;
  double error = 0;
};

// RAII guard: runs tensor operations on one thread, because the matrices are too small for more.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

double mean_of(const Tensor& values) {
  return values.mean().item<double>();
}

Tensor as_doubles(const Tensor& features) {
  return features.detach().to(torch::kCPU, torch::kFloat64).contiguous();
}

// Sorts the samples, so that results do not depend on their order.
TwoSets sorted(const TwoSets& sets) {
  const int64_t n = sets.features.size(0), width = sets.features.size(1);
  const auto* value = sets.features.data_ptr<double>();
  const Tensor group = sets.group.defined() ? sets.group : torch::zeros({n}, torch::kInt64);
  const auto first = sets.first.accessor<bool, 1>();
  const auto of = group.accessor<int64_t, 1>();
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (first[a] != first[b]) return first[a];
    const double *row_a = value + a * width, *row_b = value + b * width;
    const auto [at_a, at_b] = std::mismatch(row_a, row_a + width, row_b);
    return at_a != row_a + width ? *at_a < *at_b : of[a] < of[b];
  });
  return sets.rows(torch::tensor(order, torch::kInt64));
}

// Assigns samples to folds, int64 [n], at random and stratified by set.
Tensor folds_of(const TwoSets& sets, int64_t folds, uint64_t seed) {
  const int64_t n = sets.first.size(0);
  const auto first = sets.first.accessor<bool, 1>();
  Tensor fold = torch::empty({n}, torch::kInt64);
  std::array<int64_t, 2> assigned{};
  Random random(seed, Purpose::kSplit, {static_cast<uint64_t>(folds)});
  for (const int64_t i : random.permutation(n)) fold.data_ptr<int64_t>()[i] = assigned[first[i] ? 0 : 1]++ % folds;
  return fold;
}

// Logistic regression of `first` on scores, with a unit Gaussian prior on the coefficients of standardised scores.
class ScoreCombination {
 public:
  ScoreCombination(const Tensor& scores, const Tensor& first) : shift_(scores.mean(0)) {
    const Tensor deviation = scores.std(0, /*unbiased=*/false);
    scale_ = at::where(deviation > 0, deviation, torch::ones_like(deviation));
    const Tensor x = inputs(scores);
    const Tensor target = first.to(torch::kFloat64);
    const Tensor prior = torch::ones({x.size(1)}, torch::kFloat64);
    prior[0] = 1e-9;
    coefficients_ = torch::zeros({x.size(1)}, torch::kFloat64);
    const auto loss = [&](const Tensor& coefficients) {
      const Tensor z = x.mv(coefficients);
      return (at::softplus(z) - target * z).sum().item<double>() +
             0.5 * (prior * coefficients.square()).sum().item<double>();
    };
    double current = loss(coefficients_);
    for (int iteration = 0; iteration < 50; ++iteration) {  // Newton's method with step halving
      const Tensor p = x.mv(coefficients_).sigmoid();
      const Tensor gradient = x.t().mv(p - target) + prior * coefficients_;
      const Tensor hessian = (x * (p * (1 - p)).unsqueeze(1)).t().matmul(x) + at::diag(prior);
      const Tensor step = at::linalg_solve(hessian, gradient);
      double length = 1, next = loss(coefficients_ - step);
      for (; next > current && length > 1e-6; next = loss(coefficients_ - length * step)) length /= 2;
      if (next >= current) break;
      coefficients_ = coefficients_ - length * step;
      const double gained = current - next;
      current = next;
      if (gained < 1e-9) break;
    }
  }

  // Log odds that a sample is of the first set.
  Tensor log_odds(const Tensor& scores) const { return inputs(scores).mv(coefficients_); }

 private:
  Tensor inputs(const Tensor& scores) const {
    return at::cat({torch::ones({scores.size(0), 1}, torch::kFloat64), (scores - shift_) / scale_}, 1);
  }

  Tensor shift_, scale_, coefficients_;
};

// Log odds, double [n], each from scores and a combination that were not fitted on that sample.
Tensor held_out_log_odds(const TwoSets& sets, int64_t folds, uint64_t seed) {
  const Tensor fold = folds_of(sets, folds, seed);
  std::vector<Tensor> inside, outside;
  for (int64_t k = 0; k < folds; ++k) {
    inside.push_back((fold == k).nonzero().squeeze(1));
    outside.push_back((fold != k).nonzero().squeeze(1));
  }
  Tensor scores;
  for (int64_t k = 0; k < folds; ++k) {
    const Discriminator discriminator(sets.rows(outside[k]));
    const Tensor own = discriminator.scores(sets.features.index_select(0, inside[k]));
    if (!scores.defined()) scores = torch::empty({fold.size(0), own.size(1)}, torch::kFloat64);
    scores.index_copy_(0, inside[k], own);
  }
  const Tensor log_odds = torch::empty({fold.size(0)}, torch::kFloat64);
  for (int64_t k = 0; k < folds; ++k) {
    const ScoreCombination combination(scores.index_select(0, outside[k]), sets.first.index_select(0, outside[k]));
    log_odds.index_copy_(0, inside[k], combination.log_odds(scores.index_select(0, inside[k])));
  }
  return log_odds;
}

// E_P[g] - ln E_Q[e^g] for independent sets. The second term uses Bennett's acceptance ratio: it is the offset at which
// as many samples of P are taken for Q as of Q for P, and has a much lower variance than a mean of e^g.
Pass between(const Tensor& log_odds, const Tensor& first) {
  const Tensor p = log_odds.index({first});
  const Tensor q = log_odds.index({first.logical_not()});
  const auto a = static_cast<double>(p.size(0)), b = static_cast<double>(q.size(0));
  double low = -100, high = 100;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const bool more = (p + middle).neg().sigmoid().sum().item<double>() > (q + middle).sigmoid().sum().item<double>();
    (more ? low : high) = middle;
  }
  const Tensor mistaken_p = (p + low).neg().sigmoid();
  const Tensor mistaken_q = (q + low).sigmoid();
  const double curvature =
      (mistaken_p * (1 - mistaken_p)).sum().item<double>() + (mistaken_q * (1 - mistaken_q)).sum().item<double>();
  Pass pass;
  pass.value = mean_of(p) + low - std::log(a / b);
  pass.error = std::sqrt((p / a + mistaken_p / curvature).var().item<double>() * a +
                         (mistaken_q / curvature).var().item<double>() * b);
  return pass;
}

// E_P[ln pi] - ln E_Q[pi], where P is the first set and Q all samples.
Pass within(const Tensor& log_odds, const Tensor& first) {
  const Tensor logarithm = at::log_sigmoid(log_odds);
  const Tensor pi = log_odds.sigmoid();
  const Tensor member = first.to(torch::kFloat64);
  const double of_members = mean_of(logarithm.index({first}));
  const double normal = mean_of(pi);
  Pass pass;
  pass.value = of_members - std::log(normal);
  const Tensor influence = member * (logarithm - of_members) / mean_of(member) - (pi - normal) / normal;
  pass.error = std::sqrt(influence.var().item<double>() / static_cast<double>(first.size(0)));
  return pass;
}

// Extrapolates to infinitely many samples: 1 / D is linear in 1 / samples, with 1/2 of them in `few` and 4/5 in `many`.
// Differences within the sampling error are ignored.
double extrapolated(const Pass& few, const Pass& many) {
  if (few.value < 3 * many.error || many.value <= few.value) return many.value;
  const double shortfall = (many.value / few.value - 1) * 5 / 3;
  return many.value / std::max(1 - shortfall, 1 / kMaxExtrapolation);
}

template <typename Measure>
std::optional<Divergence> estimate(const TwoSets& unordered, double cap, uint64_t seed, Measure measure) {
  const torch::NoGradGuard no_grad;
  const OneThread one_thread;
  if (!unordered.features.isfinite().all().item<bool>()) return {};
  const TwoSets sets = sorted(unordered);
  const Pass few = measure(held_out_log_odds(sets, kFewFolds, seed), sets.first);
  const Pass many = measure(held_out_log_odds(sets, kManyFolds, seed), sets.first);
  Divergence result;
  result.cap = cap;
  result.held_out = std::clamp(many.value, 0.0, cap);
  result.value = std::clamp(extrapolated(few, many), 0.0, cap);
  result.error = many.error;
  return result;
}

}  // namespace

std::optional<Divergence> divergence_between(const Tensor& p, const Tensor& q, uint64_t seed) {
  TRIBUTARY_CHECK(p.dim() == 2 && q.dim() == 2 && p.size(1) == q.size(1), "features of {} and {} dimensions",
                  p.size(-1), q.size(-1));
  const int64_t a = p.size(0), b = q.size(0);
  if (std::min(a, b) < kFewestForDivergence) return {};
  TwoSets sets;
  sets.features = at::cat({as_doubles(p), as_doubles(q)});
  sets.first = torch::arange(a + b) < a;
  return estimate(sets, std::log(static_cast<double>(b)), seed, between);
}

std::optional<Divergence> divergence_of_subset(const Tensor& features, const Tensor& member, const Tensor& group,
                                               uint64_t seed) {
  const int64_t n = features.size(0);
  TRIBUTARY_CHECK(features.dim() == 2 && member.numel() == n && (!group.defined() || group.numel() == n),
                  "{} samples but {} membership flags", n, member.numel());
  const Tensor first = member.to(torch::kCPU, torch::kBool).contiguous();
  const int64_t members = first.sum().item<int64_t>();
  if (members < kFewestForDivergence) return {};
  if (members == n) return Divergence();
  if (n - members < kFewestForDivergence) return {};
  TwoSets sets;
  sets.features = as_doubles(features);
  sets.first = first;
  if (group.defined()) sets.group = group.to(torch::kCPU, torch::kInt64).contiguous();
  return estimate(sets, std::log(static_cast<double>(n) / static_cast<double>(members)), seed, within);
}

double gaussian_divergence(const Tensor& mean_p, const Tensor& covariance_p, const Tensor& mean_q,
                           const Tensor& covariance_q) {
  const Tensor p = as_doubles(covariance_p), q = as_doubles(covariance_q);
  const Tensor shift = as_doubles(mean_q) - as_doubles(mean_p);
  const double trace = at::linalg_solve(q, p).trace().item<double>();
  const double distance = shift.dot(at::linalg_solve(q, shift)).item<double>();
  const double volume = (at::logdet(q) - at::logdet(p)).item<double>();
  return 0.5 * (trace + distance - static_cast<double>(shift.size(0)) + volume);
}

}  // namespace tributary

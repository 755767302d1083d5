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

// Halves, and fifths: learning from one half of the samples and from four fifths.
constexpr int64_t kFewFolds = 2, kManyFolds = 5;
constexpr double kMostExtrapolation = 2;  // an estimate is at most so many times what was held out

// What one pass over the folds gives, before clamping.
struct Pass {
  double value = 0;
  double error = 0;
};

// One thread for as long as this lives: the matrices are small, and threads would wait for each other most of the time.
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

// The samples in an order that depends on nothing but the samples.
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

// A fold each, int64 [n]: drawn by the seed, both sets spread evenly.
Tensor folds_of(const TwoSets& sets, int64_t folds, uint64_t seed) {
  const int64_t n = sets.first.size(0);
  const auto first = sets.first.accessor<bool, 1>();
  Tensor fold = torch::empty({n}, torch::kInt64);
  std::array<int64_t, 2> dealt{};
  Random random(seed, Purpose::kSplit, {static_cast<uint64_t>(folds)});
  for (const int64_t i : random.permutation(n)) fold.data_ptr<int64_t>()[i] = dealt[first[i] ? 0 : 1]++ % folds;
  return fold;
}

// Logistic regression of `first` on scores, with a unit Gaussian prior on the slopes of standardised scores.
class JudgeCombination {
 public:
  JudgeCombination(const Tensor& scores, const Tensor& first) : shift_(scores.mean(0)) {
    const Tensor deviation = scores.std(0, /*unbiased=*/false);
    scale_ = at::where(deviation > 0, deviation, torch::ones_like(deviation));
    const Tensor x = inputs(scores);
    const Tensor target = first.to(torch::kFloat64);
    const Tensor prior = torch::ones({x.size(1)}, torch::kFloat64);
    prior[0] = 1e-9;
    slopes_ = torch::zeros({x.size(1)}, torch::kFloat64);
    const auto loss = [&](const Tensor& slopes) {
      const Tensor z = x.mv(slopes);
      return (at::softplus(z) - target * z).sum().item<double>() + 0.5 * (prior * slopes.square()).sum().item<double>();
    };
    double current = loss(slopes_);
    for (int iteration = 0; iteration < 50; ++iteration) {  // Newton's method, steps halved until they help
      const Tensor p = x.mv(slopes_).sigmoid();
      const Tensor gradient = x.t().mv(p - target) + prior * slopes_;
      const Tensor hessian = (x * (p * (1 - p)).unsqueeze(1)).t().matmul(x) + at::diag(prior);
      const Tensor step = at::linalg_solve(hessian, gradient);
      double length = 1, next = loss(slopes_ - step);
      for (; next > current && length > 1e-6; next = loss(slopes_ - length * step)) length /= 2;
      if (next >= current) break;
      slopes_ = slopes_ - length * step;
      const double gained = current - next;
      current = next;
      if (gained < 1e-9) break;
    }
  }

  // The logarithm of the odds that a sample is of the first set.
  Tensor log_odds(const Tensor& scores) const { return inputs(scores).mv(slopes_); }

 private:
  Tensor inputs(const Tensor& scores) const {
    return at::cat({torch::ones({scores.size(0), 1}, torch::kFloat64), (scores - shift_) / scale_}, 1);
  }

  Tensor shift_, scale_, slopes_;
};

// log odds, double [n], each from judges and a combination of them that have not learned from the sample.
Tensor held_out_log_odds(const TwoSets& sets, int64_t folds, uint64_t seed) {
  const Tensor fold = folds_of(sets, folds, seed);
  std::vector<Tensor> inside, outside;
  for (int64_t k = 0; k < folds; ++k) {
    inside.push_back((fold == k).nonzero().squeeze(1));
    outside.push_back((fold != k).nonzero().squeeze(1));
  }
  Tensor scores;
  for (int64_t k = 0; k < folds; ++k) {
    const Discriminator judges(sets.rows(outside[k]));
    const Tensor own = judges.scores(sets.features.index_select(0, inside[k]));
    if (!scores.defined()) scores = torch::empty({fold.size(0), own.size(1)}, torch::kFloat64);
    scores.index_copy_(0, inside[k], own);
  }
  const Tensor log_odds = torch::empty({fold.size(0)}, torch::kFloat64);
  for (int64_t k = 0; k < folds; ++k) {
    const JudgeCombination combination(scores.index_select(0, outside[k]), sets.first.index_select(0, outside[k]));
    log_odds.index_copy_(0, inside[k], combination.log_odds(scores.index_select(0, inside[k])));
  }
  return log_odds;
}

// E_P[g] - ln E_Q[e^g] for independent sets. The second term by Bennett's acceptance ratio: it is the offset b at which
// as many of P are taken for Q as of Q for P, and varies far less than a mean of e^g.
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

// E_P[ln pi] - ln E_Q[pi] where the first set is a part of Q, all samples.
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

// 1 / D is linear in 1 / samples; `few` had 1/2 and `many` 4/5 of them. A rise within the noise is no rise.
double extrapolated(const Pass& few, const Pass& many) {
  if (few.value < 3 * many.error || many.value <= few.value) return many.value;
  const double shortfall = (many.value / few.value - 1) * 5 / 3;
  return many.value / std::max(1 - shortfall, 1 / kMostExtrapolation);
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
  TRIBUTARY_CHECK(p.dim() == 2 && q.dim() == 2 && p.size(1) == q.size(1), "{} against {} dimensions", p.size(-1),
                  q.size(-1));
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
                  "{} samples, {} marks", n, member.numel());
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

#include "tributary/adapt/aggregation.h"

#include "tributary/adapt/agreement.h"
#include "tributary/adapt/information.h"
#include "tributary/adapt/weight_descent.h"
#include "tributary/device/accelerator.h"

namespace tributary {
namespace {

// Rows [n, K] times sample weights [n], which may be undefined.
Tensor weighted_rows(const Tensor& rows, const Tensor& sample_weights) {
  return sample_weights.defined() ? rows * sample_weights.unsqueeze(1) : rows;
}

// d IM / d P for P [n, K], without the rows' common factor: the information loss is a mean over rows minus a function
// of their mean, so row i contributes (d entropy(P_i) - d entropy(mean P)) / n.
// A class prior adds its logarithm to the second part; sample weights multiply the rows.
Tensor information_gradient(const Tensor& p, double marginal_epsilon, const Tensor& prior, const Tensor& sample_weights,
                            const RowBlock& rows) {
  const auto slope = [](const Tensor& q, double epsilon) { return -((q + epsilon).log() + q / (q + epsilon)); };
  // The gradient of a class that is never predicted is useless; without epsilon it would be infinite.
  const Tensor marginal = rows.mean(weighted_rows(p, sample_weights)).clamp_min(marginal_epsilon > 0 ? 0.0 : 1e-38);
  Tensor of_marginal = slope(marginal, marginal_epsilon);
  if (prior.defined()) of_marginal = of_marginal + (prior + kEntropyEpsilon).log();
  return weighted_rows((slope(p, kEntropyEpsilon) - of_marginal) / static_cast<double>(rows.total(p.size(0))),
                       sample_weights);
}

// The gradient of the mean cross-entropy of the given labels in the rows P [n, K], or in their logits: 0 in other rows.
Tensor given_gradient(const Tensor& p, const GivenLabels& given, bool in_logits) {
  const Tensor rows = p.index_select(0, given.index), label = given.label.unsqueeze(1);
  const Tensor right = rows.gather(1, label).clamp_min(1e-30), none = torch::zeros_like(rows);
  const Tensor slope = in_logits ? rows - none.scatter(1, label, 1) : none.scatter(1, label, -right.reciprocal());
  return torch::zeros_like(p).index_copy(0, given.index, slope / static_cast<double>(given.count()));
}

Tensor given_cross_entropy(const Tensor& p, const GivenLabels& given) {
  return -p.index_select(0, given.index).gather(1, given.label.unsqueeze(1)).clamp_min(1e-30).log().sum() /
         static_cast<double>(given.count());
}

std::vector<float> as_vector(const Tensor& numbers) {
  if (!numbers.defined()) return {};
  const Tensor values = numbers.to(torch::kFloat32).cpu().contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

// For the loop over numbers; empty without a prior.
std::vector<double> log_prior(const Tensor& prior) {
  if (!prior.defined()) return {};
  const Tensor logs = (prior.to(torch::kFloat64).cpu() + kEntropyEpsilon).log().contiguous();
  return {logs.data_ptr<double>(), logs.data_ptr<double>() + logs.numel()};
}

// For the loop over numbers: the logits [m, n, K] of the given samples as [g, m, K], and their labels.
GivenSamples given_samples(const Tensor& logits, const GivenLabels& given) {
  if (given.empty()) return {};
  const Tensor label = given.label.contiguous();
  return {as_vector(logits.index_select(1, given.index).transpose(0, 1)),
          {label.data_ptr<int64_t>(), label.data_ptr<int64_t>() + label.numel()},
          given.count()};
}

// For the loop over numbers; empty if rows are not divided.
std::function<void(std::span<double>)> sum_over(const RowBlock& rows) {
  if (!rows.divided()) return {};
  return [&rows](std::span<double> numbers) {
    Tensor sums = torch::from_blob(numbers.data(), {static_cast<int64_t>(numbers.size())}, torch::kFloat64);
    rows.comm()->all_reduce(sums);
  };
}

}  // namespace

Tensor initial_weights(int64_t sources, WeightStart start, Random random) {
  Tensor weights = torch::full({sources}, 1.0 / static_cast<double>(sources), torch::kFloat32);
  if (start == WeightStart::kNormal)
    for (int64_t j = 0; j < sources; ++j) weights[j] = random.normal();
  return weights;
}

Tensor agreement_start(const Tensor& labels, int64_t classes, const RowBlock& rows) {
  const int64_t m = labels.size(0);
  const double least = 0.1 / static_cast<double>(m);
  const Tensor weights = m > 1 ? weights_from_agreement(labels, classes, rows).clamp_min(0) : torch::zeros({m});
  const auto total = weights.sum().item<double>();
  if (!(total > 0)) return initial_weights(m, WeightStart::kUniform, Random(0));
  const Tensor floored = (weights / total).clamp_min(least);
  return floored / floored.sum();
}

Tensor normalised_weights(const Tensor& weights) {
  const Tensor size = weights.abs();
  return size / (size.sum() + 1e-5);
}

Mixture weighted_mixture(const Tensor& weights, MixtureSpace space, WeightScale scale) {
  if (space == MixtureSpace::kProbabilities) return {Combination::kWeightedProbabilities, normalised_weights(weights)};
  if (scale == WeightScale::kFree) return {Combination::kWeightedLogits, weights.abs()};
  return {Combination::kWeightedLogits, normalised_weights(weights) * static_cast<double>(weights.size(0))};
}

namespace {

// The gradient of the loss in w, where p is the mixture of the logits with the weights.
Tensor weight_gradient(const Tensor& logits, const Tensor& p, const Tensor& weights, const AggregationOptions& options,
                       const Tensor& prior, const Tensor& sample_weights, const GivenLabels& given,
                       const RowBlock& rows) {
  const bool of_probabilities = options.space == MixtureSpace::kProbabilities;
  const Tensor parts = of_probabilities ? logits.softmax(-1) : logits;
  Tensor back = information_gradient(p, options.marginal_epsilon, prior, sample_weights, rows);
  if (!of_probabilities) back = p * (back - (back * p).sum(-1, true));  // through the softmax
  if (!given.empty()) back = back + given_gradient(p, given, !of_probabilities);
  Tensor gradient = rows.sum(at::tensordot(parts, back, {1, 2}, {0, 1}));  // in the effective weights
  if (of_probabilities || options.scale == WeightScale::kFixed) {          // through their normalisation
    const double total = of_probabilities ? 1.0 : static_cast<double>(weights.size(0));
    const Tensor share = normalised_weights(weights);
    gradient = total * (gradient - (gradient * share).sum()) / (weights.abs().sum() + 1e-5);
  }
  return gradient * weights.sign();
}

}  // namespace

WeightLoss weight_loss(const Tensor& logits, const Tensor& weights, const AggregationOptions& options,
                       const Tensor& prior, const Tensor& sample_weights, const GivenLabels& given,
                       const RowBlock& rows) {
  const Tensor p = combine(logits, weighted_mixture(weights, options.space, options.scale));
  const Tensor marginal = rows.mean(weighted_rows(p, sample_weights));
  Tensor value = sample_weights.defined()
                     ? rows.mean(entropy(p) * sample_weights) - entropy(marginal, options.marginal_epsilon)
                     : information_loss(p, kEntropyEpsilon, options.marginal_epsilon, rows);
  if (prior.defined()) value = value - (marginal * (prior + kEntropyEpsilon).log()).sum();
  if (given.count() > 0)
    value = value + rows.sum(given.empty() ? torch::zeros_like(value) : given_cross_entropy(p, given));
  return {value, weight_gradient(logits, p, weights, options, prior, sample_weights, given, rows)};
}

Tensor optimise_weights(const Tensor& logits, const Tensor& weights, const AggregationOptions& options,
                        const Tensor& prior, const Tensor& sample_weights, const GivenLabels& given,
                        const RowBlock& rows) {
  torch::NoGradGuard no_grad;
  if (!options.learn) return weights;
  const bool plain = options.space == MixtureSpace::kLogits && options.scale == WeightScale::kFree;
  if (logits.is_cpu() && plain && options.marginal_epsilon > 0) {
    const Tensor by_class = logits.to(torch::kFloat32).transpose(1, 2).contiguous();
    std::vector<float> w = as_vector(weights);
    tributary::descend(
        by_class.data_ptr<float>(), by_class.size(1), by_class.size(2), w,
        {options.steps, options.rate, kEntropyEpsilon, options.marginal_epsilon, log_prior(prior),
         as_vector(sample_weights), given_samples(logits, given), rows.total(logits.size(1)), sum_over(rows)});
    return torch::tensor(w);
  }
  Tensor w = weights.to(logits.device()).clone();
  const auto descend = [&](int64_t steps) {
    for (int64_t i = 0; i < steps; ++i)
      w.sub_(weight_gradient(logits, combine(logits, weighted_mixture(w, options.space, options.scale)), w, options,
                             prior, sample_weights, given, rows),
             options.rate);
  };
  constexpr int64_t kEagerFirst = 3, kAtOnce = 40;
  if (!CudaGraph::possible(logits.device()) || options.steps < kEagerFirst + kAtOnce) {
    descend(options.steps);
    return w;
  }
  const OwnStream stream(logits.device());
  descend(kEagerFirst);
  CudaGraph work;
  work.capture([&] { descend(kAtOnce); });
  int64_t left = options.steps - kEagerFirst;
  for (; left >= kAtOnce; left -= kAtOnce) work.replay();
  descend(left);
  return w;
}

}  // namespace tributary

#include "tributary/adapt/agreement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tributary/base/error.h"

namespace tributary {

namespace {

// The labels of the pictures for which both have one.
std::pair<Tensor, Tensor> common_labels(const Tensor& label, const Tensor& other) {
  const Tensor common = (label >= 0).logical_and(other.to(label.device()) >= 0);
  if (common.all().item<bool>()) return {label, other};
  return {label.masked_select(common), other.to(label.device()).masked_select(common)};
}

}  // namespace

double agreement(const Tensor& label, const Tensor& other, const RowBlock& rows) {
  const auto [own, theirs] = common_labels(label, other);
  const Tensor counts =
      rows.sum(at::stack({(own == theirs).sum(), torch::full({}, own.numel(), own.options())}).to(torch::kFloat64));
  const auto equal = counts[0].item<double>(), common = counts[1].item<double>();
  return common == 0 ? 0 : equal / common;
}

double cohens_kappa(const Tensor& label, const Tensor& other, int64_t classes, const RowBlock& rows) {
  const auto [own, theirs] = common_labels(label, other);
  const Tensor sizes = rows.sum(at::stack({at::bincount(own, {}, classes), at::bincount(theirs, {}, classes)}));
  const auto common = static_cast<double>(sizes[0].sum().item<int64_t>());
  if (common == 0) return 0;
  const Tensor shares = sizes.to(torch::kFloat64) / common;
  const auto by_chance = (shares[0] * shares[1]).sum().item<double>();
  const auto agreed = static_cast<double>(rows.sum((own == theirs).sum().item<int64_t>())) / common;
  constexpr double kOneClass = 1 - 1e-12;
  return by_chance >= kOneClass ? 0 : (agreed - by_chance) / (1 - by_chance);
}

namespace {

// The mean of measure(i, j) over all pairs i < j of `sources`; 0 for a single source.
template <typename Measure>
double pair_mean(int64_t sources, const Measure& measure) {
  double sum = 0;
  for (int64_t i = 0; i < sources; ++i)
    for (int64_t j = i + 1; j < sources; ++j) sum += measure(i, j);
  const auto pairs = static_cast<double>(sources * (sources - 1)) / 2;
  return pairs > 0 ? sum / pairs : 0;
}

}  // namespace

double mean_agreement(const Tensor& labels, const RowBlock& rows) {
  return pair_mean(labels.size(0), [&](int64_t i, int64_t j) { return agreement(labels[i], labels[j], rows); });
}

double mutual_trust(const Tensor& labels, int64_t classes, const RowBlock& rows) {
  const auto kappa = [&](int64_t i, int64_t j) { return cohens_kappa(labels[i], labels[j], classes, rows); };
  return std::clamp(pair_mean(labels.size(0), kappa), 0.0, 1.0);
}

bool agrees_more(const Tensor& before, const Tensor& after, int64_t classes, bool skewed, const RowBlock& rows) {
  constexpr double kLeastGain = 0.05;
  const double gain = mutual_trust(after, classes, rows) - mutual_trust(before, classes, rows);
  if (before.size(0) < 3 || skewed) return gain >= kClearGain;
  return gain >= kClearGain || (gain >= kLeastGain && mean_agreement(after, rows) >= mean_agreement(before, rows));
}

PairedDifference paired_difference(const Tensor& difference, const RowBlock& rows) {
  const Tensor d = difference.to(torch::kFloat64);
  const auto mean = rows.mean(d).item<double>();
  const double variance = std::max(0.0, rows.mean(d.square()).item<double>() - mean * mean);
  return {mean, std::sqrt(variance / static_cast<double>(rows.total(d.numel())))};
}

std::vector<double> accuracies_from_agreement(const Tensor& labels, int64_t classes) {
  const int64_t m = labels.size(0);
  const Tensor agreements = torch::ones({m, m}, torch::kFloat64);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < i; ++j) {
      const double g = agreement(labels[i], labels[j]);
      agreements[i][j] = g;
      agreements[j][i] = g;
    }
  return accuracies_from_agreements(agreements, classes);
}

std::vector<double> accuracies_from_agreements(const Tensor& agreements, int64_t classes) {
  TRIBUTARY_CHECK(agreements.size(0) >= 2 && classes >= 2, "agreement needs two sources and two classes");
  constexpr double kUsable = 0.01;
  const int64_t m = agreements.size(0);
  const double chance = 1 / static_cast<double>(classes);
  std::vector<Tensor> equations;
  std::vector<double> values;
  std::vector<bool> is_known(static_cast<size_t>(m), false);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < i; ++j) {
      const double r = (agreements[i][j].item<double>() - chance) * (1 - chance);
      if (r <= kUsable) continue;
      const Tensor equation = torch::zeros({m}, torch::kFloat64);
      equation[i] = 1;
      equation[j] = 1;
      equations.push_back(equation);
      values.push_back(std::log(r));
      is_known[static_cast<size_t>(i)] = is_known[static_cast<size_t>(j)] = true;
    }
  std::vector<double> accuracies(static_cast<size_t>(m), chance);
  if (equations.empty()) return accuracies;
  // The solution of least norm: two sources share ln r equally.
  const Tensor logs = at::linalg_pinv(at::stack(equations)).matmul(torch::tensor(values, torch::kFloat64));
  for (int64_t j = 0; j < m; ++j)
    if (is_known[static_cast<size_t>(j)])
      accuracies[static_cast<size_t>(j)] = std::clamp(std::exp(logs[j].item<double>()) + chance, chance, 1.0);
  return accuracies;
}

Tensor weights_from_agreement(const Tensor& labels, int64_t classes, const RowBlock& rows) {
  constexpr int kSweeps = 100;
  constexpr double kMost = 0.98;
  const auto m = static_cast<size_t>(labels.size(0));
  std::vector<std::vector<double>> kappa(m, std::vector<double>(m, 0));
  double mean = 0;
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < i; ++j) {
      kappa[i][j] = kappa[j][i] =
          cohens_kappa(labels[static_cast<int64_t>(i)], labels[static_cast<int64_t>(j)], classes, rows);
      mean += kappa[i][j] / (static_cast<double>(m * (m - 1)) / 2);
    }
  std::vector<double> b(m, std::sqrt(std::max(mean, 1e-3)));
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (size_t i = 0; i < m; ++i) {
      double product = 0, square = 0;
      for (size_t j = 0; j < m; ++j)
        if (j != i) product += kappa[i][j] * b[j], square += b[j] * b[j];
      b[i] = std::clamp(product / std::max(square, 1e-9), 0.0, kMost);
    }
  const auto k = static_cast<double>(classes);
  std::vector<float> weights;
  for (const double quality : b) {
    const double a = quality + (1 - quality) / k;
    weights.push_back(static_cast<float>(std::log(a * (k - 1) / (1 - a))));
  }
  return torch::tensor(weights);
}

bool is_better_supported(const Tensor& own, const Tensor& other, const Tensor& labels, int64_t classes,
                         const RowBlock& rows) {
  constexpr double kErrors = 2;
  const Tensor weights = weights_from_agreement(labels, classes, rows).to(labels.device(), torch::kFloat64);
  const auto support = [&](const Tensor& label) {
    return at::tensordot(weights, (labels == label).to(torch::kFloat64), {0}, {0});
  };
  const PairedDifference gain = paired_difference(support(own) - support(other), rows);
  return gain.mean > kErrors * gain.standard_error;
}

double accuracy_from_witness(double q, double a, int64_t classes) {
  const double e = (1 - a) / static_cast<double>(classes - 1);
  return (q - e) / (a - e);
}

double accuracy_cap(const Tensor& label, const Tensor& other) {
  return 1 - (1 - agreement(label, other)) / 2;
}

}  // namespace tributary

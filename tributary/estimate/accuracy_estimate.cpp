#include "tributary/estimate/accuracy_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tributary/adapt/agreement.h"
#include "tributary/estimate/bootstrap.h"

namespace tributary {
namespace {

constexpr double kLeastMargin = 0.2;  // of a witness over its share of accidental agreement
constexpr double kNormal90 = 1.645;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// All shares of pictures that an estimate depends on: agreements of pairs of witnesses, confident pictures of those
// with a threshold, and agreements of the judged labels with each witness. A share is that of the pictures for which
// all have a label.
class Marks {
 public:
  Marks(const Witnesses& witnesses, const Tensor& label) : sources_(witnesses.label.size(0)) {
    const Tensor voted = witnesses.label >= 0;
    const bool all_vote = voted.all().item<bool>();
    std::vector<Tensor> hits, counted;
    const auto add = [&](const Tensor& hit, const Tensor& counts) {
      hits.push_back(all_vote ? hit : hit.logical_and(counts));
      counted.push_back(counts);
    };
    for (int64_t i = 0; i < sources_; ++i)
      for (int64_t j = 0; j < i; ++j) add(witnesses.label[i] == witnesses.label[j], voted[i].logical_and(voted[j]));
    for (const Tensor& confident : witnesses.is_confident) {
      has_threshold_.push_back(confident.defined());
      if (confident.defined()) add(confident, torch::ones_like(confident));
    }
    has_threshold_.resize(static_cast<size_t>(sources_), false);
    if (label.defined())
      for (int64_t j = 0; j < sources_; ++j) add((label.dim() == 1 ? label : label[j]) == witnesses.label[j], voted[j]);
    hits_ = at::stack(hits).to(torch::kFloat32);
    if (!all_vote) counted_ = at::stack(counted).to(torch::kFloat32);
  }

  int64_t pictures() const { return hits_.size(1); }

  // Of all pictures, or of the rows `sample`; float64, one for each share.
  Tensor shares(const Tensor& sample = {}) const {
    const auto sums = [&](const Tensor& rows) {
      return (sample.defined() ? rows.index_select(1, sample) : rows).sum(1, /*keepdim=*/false, torch::kFloat64);
    };
    if (counted_.defined()) return sums(hits_) / sums(counted_).clamp_min(1);
    return sums(hits_) / static_cast<double>(sample.defined() ? sample.size(0) : pictures());
  }

  std::vector<double> accuracies(const Tensor& shares, int64_t classes) const {
    const Tensor agreements = torch::ones({sources_, sources_}, torch::kFloat64);
    int64_t row = 0;
    for (int64_t i = 0; i < sources_; ++i)
      for (int64_t j = 0; j < i; ++j) {
        agreements[i][j] = shares[row];
        agreements[j][i] = shares[row++];
      }
    std::vector<double> accuracies = accuracies_from_agreements(agreements, classes);
    for (size_t j = 0; j < accuracies.size(); ++j)
      if (has_threshold_[j]) accuracies[j] = (accuracies[j] + shares[row++].item<double>()) / 2;
    return accuracies;
  }

  // Of the judged labels, one estimate per usable witness.
  std::vector<double> estimates(const Tensor& shares, int64_t classes) const {
    const std::vector<double> own = accuracies(shares, classes);
    const int64_t first = shares.size(0) - sources_;
    std::vector<double> estimates;
    for (int64_t j = 0; j < sources_; ++j) {
      const double a = own[static_cast<size_t>(j)], e = (1 - a) / static_cast<double>(classes - 1);
      if (a - e > kLeastMargin)
        estimates.push_back(std::clamp(accuracy_from_witness(shares[first + j].item<double>(), a, classes),
                                       1 / static_cast<double>(classes), 1.0));
    }
    return estimates;
  }

 private:
  int64_t sources_;
  Tensor hits_, counted_;  // float [shares, n]; `counted_` is undefined if every picture counts
  std::vector<bool> has_threshold_;
};

// The share of right labels among those of every class, from the agreement of the witnesses on these pictures.
std::vector<double> class_precisions(const Witnesses& witnesses, const Tensor& label,
                                     const std::vector<double>& accuracies) {
  std::vector<std::vector<double>> estimates(static_cast<size_t>(witnesses.classes));
  for (size_t j = 0; j < accuracies.size(); ++j) {
    const double a = accuracies[j], e = (1 - a) / static_cast<double>(witnesses.classes - 1);
    if (a - e <= kLeastMargin) continue;
    const auto source = static_cast<int64_t>(j);
    const Tensor voted = witnesses.label[source] >= 0;
    const Tensor own = (label.dim() == 1 ? label : label[source]).masked_select(voted);
    const Tensor agreed = own.masked_select(own == witnesses.label[source].masked_select(voted));
    const Tensor counts = at::bincount(own, {}, witnesses.classes), hits = at::bincount(agreed, {}, witnesses.classes);
    const int64_t* const count = counts.data_ptr<int64_t>();
    const int64_t* const hit = hits.data_ptr<int64_t>();
    // A source says nothing about a class that it does not know.
    const Tensor known = witnesses.known.defined() ? witnesses.known[source].contiguous()
                                                   : torch::ones({witnesses.classes}, torch::kBool);
    for (size_t k = 0; k < estimates.size(); ++k) {
      if (count[k] == 0 || !known.data_ptr<bool>()[k]) continue;
      const double q = static_cast<double>(hit[k]) / static_cast<double>(count[k]);
      estimates[k].push_back(std::clamp(accuracy_from_witness(q, a, witnesses.classes), 0.0, 1.0));
    }
  }
  std::vector<double> precisions;
  for (const std::vector<double>& of_class : estimates)
    precisions.push_back(of_class.empty() ? std::numeric_limits<double>::quiet_NaN() : median_of(of_class));
  return precisions;
}

}  // namespace

std::vector<double> witness_accuracies(const Witnesses& witnesses) {
  const Marks marks(witnesses, {});
  return marks.accuracies(marks.shares(), witnesses.classes);
}

double interval_half(double sampling_error, double model_error, double spread) {
  return std::max(std::hypot(kNormal90 * sampling_error, model_error), spread);
}

std::optional<AccuracyEstimate> estimate_accuracy(const Witnesses& witnesses, const Tensor& label, double model_error,
                                                  double cap) {
  const torch::NoGradGuard no_grad;
  if (witnesses.label.size(0) < 2) return std::nullopt;
  const double chance = 1 / static_cast<double>(witnesses.classes);
  const Marks marks(witnesses, label);
  const Tensor shares = marks.shares();
  const std::vector<double> singles = marks.estimates(shares, witnesses.classes);
  if (singles.empty()) return std::nullopt;
  AccuracyEstimate estimate;
  estimate.accuracy = std::clamp(median_of(singles), chance, std::max(chance, cap));
  const auto [least, most] = std::minmax_element(singles.begin(), singles.end());
  estimate.spread = (*most - *least) / 2;
  estimate.sampling_error = bootstrap_deviation(marks.pictures(), [&](const Tensor& sample) {
    const std::vector<double> drawn = marks.estimates(marks.shares(sample), witnesses.classes);
    return drawn.empty() ? chance : std::min(median_of(drawn), cap);
  });
  estimate.half = interval_half(estimate.sampling_error, model_error, estimate.spread);
  estimate.interval = {std::max(chance, estimate.accuracy - estimate.half),
                       std::max(chance, std::min({1.0, cap, estimate.accuracy + estimate.half}))};
  estimate.by_class = class_precisions(witnesses, label, marks.accuracies(shares, witnesses.classes));
  return estimate;
}

namespace {

// The logit of the accuracy above chance is a constant plus these multiples of the logits of Evidence. Fitted by
// bench/estimate_accuracy.py to runs on drawn digits (docs/results.md, Estimated accuracy), before and after
// adaptation, failed ones among them. `error` is the 90th percentile of the absolute error on targets that were left
// out of the fit. The confidences of Evidence have no coefficient, because they did not help there.
struct Regression {
  double constant, sources, members, evenness, error;
};
constexpr Regression kFit = {-1.43, 0.99, 0.34, 0.49, 0.26};

double logit(double share) {
  constexpr double kLeast = 0.02;
  const double p = std::clamp(share, kLeast, 1 - kLeast);
  return std::log(p / (1 - p));
}

// How far every source is to be believed, in 0..1: kappa_ij = b_i b_j, from the weights of a vote.
Tensor reliabilities(const Witnesses& witnesses) {
  const Tensor odds = weights_from_agreement(witnesses.label, witnesses.classes).to(torch::kFloat64).exp();
  const auto k = static_cast<double>(witnesses.classes);
  const Tensor accuracy = odds / (odds + (k - 1));
  return ((accuracy - 1 / k) / (1 - 1 / k)).clamp(0, 1);
}

// Kappas of the labels with every row of `others`, float64 [m].
Tensor kappas_with(const Tensor& others, const Tensor& label, int64_t classes) {
  std::vector<double> kappas;
  for (int64_t j = 0; j < others.size(0); ++j) kappas.push_back(cohens_kappa(label, others[j], classes));
  return torch::tensor(kappas, torch::kFloat64);
}

double weighted_mean(const Tensor& values, const Tensor& weights) {
  constexpr double kLeast = 1e-6;
  return ((values * weights).sum() / weights.sum().clamp_min(kLeast)).item<double>();
}

double accuracy_from(const Evidence& evidence, int64_t classes) {
  const double chance = 1 / static_cast<double>(classes);
  const double odds = kFit.constant + kFit.sources * logit(evidence.with_sources) +
                      kFit.members * logit(evidence.with_members) + kFit.evenness * logit(evidence.evenness);
  return chance + (1 - chance) / (1 + std::exp(-odds));
}

std::optional<double> confident_sources(const Witnesses& witnesses, const Tensor& weights) {
  std::vector<double> shares, of;
  for (size_t j = 0; j < witnesses.is_confident.size(); ++j) {
    if (!witnesses.is_confident[j].defined()) continue;
    shares.push_back(witnesses.is_confident[j].to(torch::kFloat64).mean().item<double>());
    of.push_back(weights[static_cast<int64_t>(j)].item<double>());
  }
  if (shares.empty()) return std::nullopt;
  return weighted_mean(torch::tensor(shares, torch::kFloat64), torch::tensor(of, torch::kFloat64));
}

double evenness_of(const Tensor& label, int64_t classes) {
  const Tensor shares = at::bincount(label, {}, classes).to(torch::kFloat64) / static_cast<double>(label.size(0));
  return -at::xlogy(shares, shares).sum().item<double>() / std::log(static_cast<double>(classes));
}

Evidence weigh(const Witnesses& witnesses, const MixtureLabels& mixture, const Tensor& weights) {
  const auto mean_kappa = [&](const Tensor& others) {
    return weighted_mean(kappas_with(others, mixture.label, witnesses.classes), weights);
  };
  return {mean_kappa(witnesses.label), mean_kappa(mixture.members), evenness_of(mixture.label, witnesses.classes),
          mixture.confidence.to(torch::kFloat64).mean().item<double>(), confident_sources(witnesses, weights)};
}

// The pictures `rows`.
Witnesses sample_of(const Witnesses& witnesses, const Tensor& rows) {
  Witnesses sample{witnesses.label.index_select(1, rows), {}, witnesses.classes};
  for (const Tensor& confident : witnesses.is_confident)
    sample.is_confident.push_back(confident.defined() ? confident.index_select(0, rows) : Tensor());
  return sample;
}

}  // namespace

Evidence evidence_of(const Witnesses& witnesses, const MixtureLabels& mixture) {
  return weigh(witnesses, mixture, reliabilities(witnesses));
}

double accuracy_from_evidence(const Witnesses& witnesses, const MixtureLabels& mixture) {
  const torch::NoGradGuard no_grad;
  return accuracy_from(evidence_of(witnesses, mixture), witnesses.classes);
}

std::optional<AccuracyEstimate> estimate_from_evidence(const Witnesses& witnesses, const MixtureLabels& mixture) {
  const torch::NoGradGuard no_grad;
  constexpr int64_t kSamples = 100;
  const int64_t sources = witnesses.label.size(0), classes = witnesses.classes;
  if (sources < 2) return std::nullopt;
  const Tensor weights = reliabilities(witnesses);
  const Evidence whole = weigh(witnesses, mixture, weights);
  AccuracyEstimate estimate;
  estimate.accuracy = accuracy_from(whole, classes);
  double least = 1, most = 0;  // of the estimates that ignore one source
  for (int64_t j = 0; j < sources; ++j) {
    const Tensor others = weights.clone();
    others[j] = 0;
    Evidence without = whole;
    without.with_sources = weighted_mean(kappas_with(witnesses.label, mixture.label, classes), others);
    const double single = accuracy_from(without, classes);
    least = std::min(least, single);
    most = std::max(most, single);
  }
  estimate.spread = (most - least) / 2;
  const auto drawn = [&](const Tensor& rows) {
    const MixtureLabels sample{mixture.label.index_select(0, rows), mixture.members.index_select(1, rows),
                               mixture.confidence.index_select(0, rows)};
    return accuracy_from(weigh(sample_of(witnesses, rows), sample, weights), classes);
  };
  estimate.sampling_error = bootstrap_deviation(mixture.label.size(0), drawn, kSamples);
  estimate.half = interval_half(estimate.sampling_error, kFit.error, estimate.spread);
  estimate.interval = {std::max(1 / static_cast<double>(classes), estimate.accuracy - estimate.half),
                       std::min(1.0, estimate.accuracy + estimate.half)};
  return estimate;
}

}  // namespace tributary

#include "tributary/bound/bound.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/bound/divergence.h"

namespace tributary {
namespace {

Tensor on_cpu(const Tensor& tensor) {
  return tensor.detach().to(torch::kCPU);
}

double fraction_of(const Tensor& flags) {
  return flags.to(torch::kFloat64).mean().item<double>();
}

// The first summand of Eq. 2.
double bias_of(const BoundSetting& setting, double mismatch, double misalignment) {
  return setting.loss_bound / std::numbers::sqrt2 * std::sqrt(mismatch + misalignment);
}

void check_shapes(const BoundInputs& inputs, const BoundSetting& setting) {
  TRIBUTARY_CHECK(setting.classes > 1 && setting.width > 0, "invalid bound setting: {} classes, feature width {}",
                  setting.classes, setting.width);
  const int64_t s = inputs.confident.numel();
  const auto fits = [&](const Tensor& tensor, int64_t dimension) {
    return tensor.dim() > dimension && tensor.size(dimension) == s;
  };
  TRIBUTARY_CHECK(inputs.joint.defined() || !inputs.sources.empty(), "no features given");
  TRIBUTARY_CHECK(!inputs.joint.defined() || fits(inputs.joint, 0), "joint features do not have one row per sample");
  for (const Tensor& source : inputs.sources)
    TRIBUTARY_CHECK(fits(source, 0), "features of a source do not have one row per sample");
  TRIBUTARY_CHECK(fits(inputs.mixture, 0) && fits(inputs.label, 0),
                  "mixture or pseudo-labels do not have one entry per sample");
  TRIBUTARY_CHECK(fits(inputs.source_label, 1), "source labels do not have one entry per sample");
  TRIBUTARY_CHECK(!inputs.truth.defined() || fits(inputs.truth, 0), "labels do not have one entry per sample");
}

void measure_labels(const BoundInputs& inputs, const Tensor& chosen, BoundTerms& terms) {
  const auto of = [&](const Tensor& labels) { return on_cpu(labels).index_select(-1, chosen); };
  const Tensor label = of(inputs.label);
  const Tensor mixture = of(inputs.mixture.dim() == 2 ? inputs.mixture.argmax(1) : inputs.mixture);
  terms.source_disagreement = fraction_of(of(inputs.source_label) != label);
  terms.criteria_disagreement = fraction_of(mixture != label);
  terms.mismatch = mismatch_of((terms.source_disagreement + terms.criteria_disagreement) / 2, chosen.size(0));
  if (!inputs.truth.defined()) return;
  terms.label_error = fraction_of(of(inputs.truth) != label);
  terms.mismatch_exact = mismatch_of(*terms.label_error, chosen.size(0));
}

void measure_features(const BoundInputs& inputs, const BoundSetting& setting, BoundTerms& terms) {
  const auto estimate = [&](const Tensor& features) {
    return divergence_of_subset(features, inputs.confident, inputs.label, setting.seed);
  };
  const Tensor joint = inputs.joint.defined() ? inputs.joint : at::cat(inputs.sources, 1);
  if (const std::optional<Divergence> divergence = estimate(joint)) {
    terms.misalignment = divergence->value;
    terms.misalignment_error = divergence->error;
  }
  double total = 0;
  for (const Tensor& source : inputs.sources) {
    const std::optional<Divergence> divergence = estimate(source);
    if (!divergence) return;
    total += divergence->value;
  }
  if (!inputs.sources.empty()) terms.misalignment_sources = total / static_cast<double>(inputs.sources.size());
}

}  // namespace

double BoundSetting::natarajan_dimension() const {
  return capacity.value_or(static_cast<double>(classes) * static_cast<double>(width));
}

std::vector<std::string> BoundSetting::notes() const {
  const std::string theorem = fmt::format(
      "The bound is Eq. 2 (Theorem 4.1) for a loss between 0 and M = {:g}, and may fail with probability {:g}.",
      loss_bound, delta);
  const std::string capacity_text =
      capacity ? fmt::format("{:g}, as set,", *capacity)
               : fmt::format(
                     "{} classes times {} joint features = {}, an upper bound for linear classifiers on fixed "
                     "features,",
                     classes, thousands(width), thousands(static_cast<int64_t>(natarajan_dimension())));
  const std::string variance = fmt::format(
      "Variance assumes a capacity (Natarajan dimension) of {} and the constant C = {:g}; the theorem gives neither.",
      capacity_text, constant);
  const std::string sum = fmt::format(
      "The sum is not a guarantee: above M = {:g} it is vacuous. Compare each term with itself from round to round.",
      loss_bound);
  const std::string mismatch =
      "Label mismatch is -ln(1 - e) in nats. Without labels, e is how often the sources and the mixture disagree "
      "with the pseudo-labels of the confident samples, a proxy: models that share a mistake agree. With labels, e "
      "is the share of wrong pseudo-labels, and the result is a lower bound of the paper's term.";
  const std::string misalignment =
      "Feature misalignment is the divergence, in nats, between the confident samples and the target set, estimated by "
      "a discriminator on held-out samples. It cannot exceed ln(n / N), because the confident samples are N of the n "
      "samples of the target set.";
  const std::string remark =
      "By Remark 1 (Eq. 5) the mean misalignment of the sources' own spaces is at most that of the joint space; the "
      "estimates can violate this.";
  return {
      theorem,
      mismatch,
      misalignment,
      fmt::format("With fewer than {} samples inside or outside of the confident set there is no estimate. Bias and "
                  "sum then use the cap ln(n / N), and jump where that begins.",
                  kFewestForDivergence),
      remark,
      variance,
      sum};
}

double mismatch_of(double fraction, int64_t count) {
  const auto n = static_cast<double>(count);
  return -std::log1p(-std::min(fraction, n / (n + 1)));
}

double variance_term(const BoundSetting& setting, int64_t confident) {
  const double capacity = setting.natarajan_dimension() * std::log(static_cast<double>(setting.classes));
  return setting.constant * std::sqrt((capacity - std::log(setting.delta)) / static_cast<double>(confident));
}

BoundTerms bound_terms(const BoundInputs& inputs, const BoundSetting& setting) {
  check_shapes(inputs, setting);
  torch::NoGradGuard no_grad;
  const Tensor chosen = on_cpu(inputs.confident).to(torch::kBool).nonzero().squeeze(1);
  const int64_t count = chosen.size(0);
  TRIBUTARY_CHECK(count > 0, "there is no confident sample");

  BoundTerms terms;
  terms.confident = inputs.confident_total > 0 ? inputs.confident_total : count;
  terms.misalignment_cap = std::log(static_cast<double>(inputs.confident.numel()) / static_cast<double>(count));
  measure_labels(inputs, chosen, terms);
  measure_features(inputs, setting, terms);
  terms.variance = variance_term(setting, terms.confident);
  const double misalignment = terms.misalignment.value_or(terms.misalignment_cap);
  terms.bias = bias_of(setting, terms.mismatch, misalignment);
  terms.sum = terms.bias + terms.variance;
  if (terms.mismatch_exact) terms.sum_exact = bias_of(setting, *terms.mismatch_exact, misalignment) + terms.variance;
  return terms;
}

}  // namespace tributary

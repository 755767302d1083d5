#include "tributary/adapt/collapse.h"

#include <fmt/format.h>

#include <algorithm>

#include "tributary/adapt/aggregation.h"
#include "tributary/adapt/information.h"

namespace tributary {

LabelFreeScores label_free_scores(const Tensor& probabilities, const Tensor& weights, int64_t sources,
                                  const RowBlock& rows) {
  torch::NoGradGuard no_grad;
  const int64_t classes = probabilities.size(1);
  const Tensor shares = rows.sum(at::bincount(probabilities.argmax(-1), {}, classes)).to(torch::kFloat64) /
                        static_cast<double>(rows.total(probabilities.size(0)));
  LabelFreeScores scores;
  scores.classes = (shares >= 0.1 / static_cast<double>(classes)).sum().item<double>();
  scores.entropy = rows.mean(entropy(probabilities)).item<double>();
  scores.marginal_entropy = entropy(rows.mean(probabilities)).item<double>();
  scores.trust =
      weights.defined() ? normalised_weights(weights).max().item<double>() : 1 / static_cast<double>(sources);
  return scores;
}

std::vector<std::string> signs_of_collapse(const LabelFreeScores& before, const LabelFreeScores& after,
                                           int64_t sources) {
  constexpr double kAlone = 0.99, kEven = 0.75;
  std::vector<std::string> signs;
  if (2 * after.classes <= before.classes && after.classes + 2 <= before.classes)
    signs.push_back(fmt::format("only {:.0f} of {:.0f} classes are still predicted", after.classes, before.classes));
  if (sources > 1 && after.trust >= kAlone && before.trust < kAlone)
    signs.push_back(
        fmt::format("one source has {:.0f} % of the trust ({:.0f} % before)", 100 * after.trust, 100 * before.trust));
  if (after.marginal_entropy < kEven * before.marginal_entropy)
    signs.push_back(fmt::format("the entropy of the mean prediction fell from {:.2f} to {:.2f}",
                                before.marginal_entropy, after.marginal_entropy));
  return signs;
}

double histogram_distance(const Tensor& before, const Tensor& after, int64_t classes) {
  const Tensor difference = at::bincount(after, {}, classes) - at::bincount(before, {}, classes);
  return difference.abs().sum().item<double>() / (2 * static_cast<double>(before.numel()));
}

std::optional<std::string> sign_of_drift(const Tensor& before, const Tensor& after, int64_t classes,
                                         double doubtful_share) {
  constexpr double kDrift = 0.15;
  const double distance = histogram_distance(before, after, classes);
  if (distance <= std::max(kDrift, doubtful_share)) return std::nullopt;
  return fmt::format("the shares of the classes moved by {:.0f} %, and the sources left {:.0f} % in doubt",
                     100 * distance, 100 * doubtful_share);
}

}  // namespace tributary

#include "tributary/methods/joint/source_mixture.h"

#include <algorithm>

#include "tributary/adapt/information.h"
#include "tributary/methods/shot/centroids.h"

namespace tributary {

Tensor sigmoid_weights(const Tensor& raw) {
  const Tensor gate = raw.sigmoid();
  return gate / (gate.sum() + 1e-16);
}

Tensor softmax_weights(const Tensor& scores, const Tensor& bias) {
  return (scores + bias).softmax(0);
}

Tensor fused(const std::vector<Tensor>& rows, const Tensor& weights) {
  std::vector<Tensor> weighted;
  for (size_t j = 0; j < rows.size(); ++j) weighted.push_back(rows[j] * weights[static_cast<int64_t>(j)]);
  const bool one_width =
      std::all_of(rows.begin(), rows.end(), [&](const Tensor& own) { return own.size(1) == rows.front().size(1); });
  if (!one_width) return at::cat(weighted, 1);
  Tensor sum = weighted.front();
  for (size_t j = 1; j < weighted.size(); ++j) sum = sum + weighted[j];
  return sum;
}

Tensor mixed_logits(const Tensor& logits, const Tensor& weights) {
  return (weights.view({-1, 1, 1}) * logits).sum(0);
}

Tensor class_relation_loss(const Tensor& logits, const Tensor& weights, const Tensor& labels) {
  const int64_t sources = logits.size(0), classes = logits.size(2);
  const Tensor members = hard_weights(labels, classes);
  const Tensor counts = members.sum(0);
  const Tensor sums = members.t().matmul(weights.view({-1, 1, 1}) * logits);  // [m, K, K]: source, class, logit
  const Tensor relation = (sums / counts.clamp_min(1).unsqueeze(1)).softmax(-1).clamp(1e-8, 1);
  const Tensor logarithm = relation.log();
  // sum_{j,l} KL(r_j || r_l) = m sum_j <r_j, ln r_j - mean_l ln r_l>, which avoids the loop over pairs.
  const Tensor divergence =
      (relation * (logarithm - logarithm.mean(0, /*keepdim=*/true))).sum(-1).sum(0) * static_cast<double>(sources);
  return (divergence * (counts > 0)).sum() / static_cast<double>(classes * sources);
}

MixtureLoss mixture_loss(const Tensor& logits, const Tensor& weights, const Tensor& labels,
                         const MixtureLossWeights& counts) {
  const Tensor mixed = mixed_logits(logits, weights);
  const Tensor cross_entropy = at::cross_entropy_loss(mixed, labels);
  const Tensor information = information_loss(mixed.softmax(1));
  const Tensor objective = counts.labels * cross_entropy + information;
  if (counts.relations == 0) return {objective, at::stack({cross_entropy, information}).detach()};
  const Tensor relations = class_relation_loss(logits, weights, labels);
  return {objective + counts.relations * relations, at::stack({cross_entropy, information, relations}).detach()};
}

}  // namespace tributary

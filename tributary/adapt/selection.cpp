#include "tributary/adapt/selection.h"

#include <algorithm>
#include <cmath>

namespace tributary {
namespace {

Selection split(const Tensor& pseudo_label, const Tensor& confident) {
  Selection selection;
  selection.confident = confident;
  selection.label = torch::full_like(pseudo_label, Selection::kUnlabelled);
  selection.label.index_copy_(0, confident, pseudo_label.index_select(0, confident));
  selection.unconfident = (selection.label == Selection::kUnlabelled).nonzero().flatten();
  return selection;
}

}  // namespace

Tensor denoised_score(const Tensor& mixture, const Tensor& weights, const Tensor& posteriors) {
  return mixture * at::tensordot(weights, posteriors, {0}, {0});
}

int64_t initial_count(const Tensor& confidence, double lambda_alpha, Threshold threshold) {
  const Tensor bar = confidence.mean() * lambda_alpha;
  return (threshold == Threshold::kAtLeast ? confidence >= bar : confidence > bar).sum().item<int64_t>();
}

int64_t confident_count(int64_t initial, int64_t total, int64_t round, int64_t rounds, Growth growth) {
  const int64_t rest = total - initial;
  return growth == Growth::kPaper ? initial + rest * round / rounds : initial + (round - 1) * (rest / rounds);
}

Selection select_confident(const Tensor& score, int64_t count) {
  const auto [confidence, pseudo_label] = score.max(-1);
  const Tensor order = std::get<1>(confidence.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  return split(pseudo_label, order.narrow(0, 0, count));
}

Selection select_confident_per_class(const Tensor& score, int64_t count) {
  const auto [confidence, pseudo_label] = score.max(-1);
  const Tensor order = std::get<1>(confidence.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  const double share = static_cast<double>(count) / static_cast<double>(score.size(0));
  const Tensor ordered = pseudo_label.index_select(0, order);
  Tensor chosen = torch::zeros_like(ordered, torch::kBool);
  for (int64_t k = 0; k < score.size(1); ++k) {
    const Tensor own = (ordered == k).nonzero().flatten();
    const auto wanted = static_cast<int64_t>(std::ceil(share * static_cast<double>(own.size(0))));
    if (own.size(0) > 0) chosen.index_fill_(0, own.narrow(0, 0, std::min(wanted, own.size(0))), true);
  }
  return split(pseudo_label, order.index_select(0, chosen.nonzero().flatten()));
}

Selection select_with_oracle(const Tensor& score, const Tensor& truth) {
  const auto [confidence, pseudo_label] = score.max(-1);
  const Tensor order = std::get<1>(confidence.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  return split(pseudo_label, order.index_select(0, (pseudo_label == truth).index_select(0, order).nonzero().flatten()));
}

}  // namespace tributary

#include "tributary/adapt/selection.h"

#include <algorithm>
#include <cmath>

#include "tributary/comm/highest_rows.h"

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

// The same from the pseudo-labels of this rank's rows, on its device. `confident` has numbers of the whole set.
Selection split_rows(const Tensor& pseudo_label, const Tensor& confident, const RowBlock& rows) {
  const torch::Device device = pseudo_label.device();
  const Shard own = rows.shard(pseudo_label.size(0));
  const Tensor here =
      confident.masked_select((confident >= own.begin).logical_and(confident < own.end)).to(device) - own.begin;
  const Tensor label = torch::full_like(pseudo_label, Selection::kUnlabelled);
  Selection selection;
  selection.label = rows.gather(label.index_copy(0, here, pseudo_label.index_select(0, here)));
  selection.confident = confident.to(device);
  selection.unconfident = (selection.label == Selection::kUnlabelled).nonzero().flatten();
  return selection;
}

// How many of `total` samples a class has, for every class.
std::vector<int64_t> sizes_of(const Tensor& pseudo_label, int64_t classes, const RowBlock& rows) {
  const Tensor sizes = rows.sum(at::bincount(pseudo_label, {}, classes)).cpu().contiguous();
  return {sizes.data_ptr<int64_t>(), sizes.data_ptr<int64_t>() + classes};
}

// The same share of every class, and at least one sample of each that occurs.
int64_t wanted_of(int64_t size, double share) {
  return std::min(size, static_cast<int64_t>(std::ceil(share * static_cast<double>(size))));
}

}  // namespace

Tensor denoised_score(const Tensor& mixture, const Tensor& weights, const Tensor& posteriors) {
  return mixture * at::tensordot(weights, posteriors, {0}, {0});
}

int64_t initial_count(const Tensor& confidence, double lambda_alpha, Threshold threshold, const RowBlock& rows) {
  const Tensor bar = rows.mean(confidence) * lambda_alpha;
  return rows.sum((threshold == Threshold::kAtLeast ? confidence >= bar : confidence > bar).sum().item<int64_t>());
}

int64_t confident_count(int64_t initial, int64_t total, int64_t round, int64_t rounds, Growth growth) {
  const int64_t rest = total - initial;
  return growth == Growth::kPaper ? initial + rest * round / rounds : initial + (round - 1) * (rest / rounds);
}

Selection select_confident(const Tensor& score, int64_t count, const RowBlock& rows) {
  const auto [confidence, pseudo_label] = score.max(-1);
  if (rows.divided()) return split_rows(pseudo_label, highest_rows(confidence, count, rows), rows);
  const Tensor order = std::get<1>(confidence.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  return split(pseudo_label, order.narrow(0, 0, count));
}

Selection select_confident_per_class(const Tensor& score, int64_t count, const RowBlock& rows) {
  const auto [confidence, pseudo_label] = score.max(-1);
  const double share = static_cast<double>(count) / static_cast<double>(rows.total(score.size(0)));
  if (rows.divided()) {
    std::vector<int64_t> wanted;
    for (const int64_t size : sizes_of(pseudo_label, score.size(1), rows)) wanted.push_back(wanted_of(size, share));
    return split_rows(pseudo_label, highest_rows(confidence, pseudo_label, wanted, rows), rows);
  }
  const Tensor order = std::get<1>(confidence.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  const Tensor ordered = pseudo_label.index_select(0, order);
  Tensor chosen = torch::zeros_like(ordered, torch::kBool);
  for (int64_t k = 0; k < score.size(1); ++k) {
    const Tensor own = (ordered == k).nonzero().flatten();
    if (own.size(0) > 0) chosen.index_fill_(0, own.narrow(0, 0, wanted_of(own.size(0), share)), true);
  }
  return split(pseudo_label, order.index_select(0, chosen.nonzero().flatten()));
}

Selection select_with_oracle(const Tensor& score, const Tensor& truth, const RowBlock& rows) {
  const auto [confidence, pseudo_label] = score.max(-1);
  if (rows.divided()) {
    const Tensor right = (pseudo_label == rows.own(truth)).to(torch::kInt64);
    return split_rows(pseudo_label, highest_rows(confidence, right, {0, rows.sum(right.sum().item<int64_t>())}, rows),
                      rows);
  }
  const Tensor order = std::get<1>(confidence.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  return split(pseudo_label, order.index_select(0, (pseudo_label == truth).index_select(0, order).nonzero().flatten()));
}

}  // namespace tributary

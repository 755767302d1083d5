#include "tributary/adapt/given_labels.h"

namespace tributary {

GivenLabels GivenLabels::on(torch::Device device) const {
  return empty() ? GivenLabels() : GivenLabels{index.to(device), label.to(device), all};
}

GivenLabels GivenLabels::of_rows(const RowBlock& rows) const {
  if (empty() || !rows.divided()) return *this;
  const Shard own = rows.shard(0);
  const Tensor here = (index >= own.begin).logical_and(index < own.end).nonzero().flatten();
  return {index.index_select(0, here) - own.begin, label.index_select(0, here), index.size(0)};
}

Tensor with_given_labels(const Tensor& label, const GivenLabels& given) {
  return given.empty() ? label : label.index_copy(0, given.index, given.label);
}

Tensor with_given_scores(const Tensor& score, const GivenLabels& given) {
  if (given.empty()) return score;
  const Tensor rows = torch::zeros({given.index.size(0), score.size(1)}, score.options());
  return score.index_copy(0, given.index, rows.scatter(1, given.label.unsqueeze(1), 1));
}

Selection with_given_selected(const Selection& selection, const GivenLabels& given) {
  if (given.empty()) return selection;
  const Tensor missing = selection.label.index_select(0, given.index) == Selection::kUnlabelled;
  Selection all;
  all.label = with_given_labels(selection.label, given);
  all.confident = at::cat({given.index.index_select(0, missing.nonzero().flatten()), selection.confident});
  all.unconfident = (all.label == Selection::kUnlabelled).nonzero().flatten();
  return all;
}

Tensor given_sample_weights(int64_t samples, const GivenLabels& given, double factor, const Tensor& otherwise) {
  const Tensor weights = otherwise.defined() ? otherwise.to(torch::kFloat32)
                                             : torch::ones({samples}, given.index.options().dtype(torch::kFloat32));
  return weights.index_fill(0, given.index, factor);
}

}  // namespace tributary

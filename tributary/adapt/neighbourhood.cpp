#include "tributary/adapt/neighbourhood.h"

#include <algorithm>

#include "tributary/adapt/feature_rows.h"

namespace tributary {

Tensor joint_neighbours(const std::vector<Tensor>& own_features, const Tensor& weights, int64_t count,
                        const RowBlock& rows) {
  const torch::Device device = weights.device();
  std::vector<Tensor> features;
  for (const Tensor& own : own_features) features.push_back(rows.gather(own));
  const int64_t samples = features.front().size(0);
  const Shard queries = rows.shard(samples);
  const int64_t wanted = std::min(count, samples - 1);
  const auto unit_rows = [&](size_t j, int64_t begin, int64_t end) {
    const Tensor values = rows_as_float(features[j], begin, end, device);
    return values / values.norm(2, {1}, true).clamp_min(1e-12);
  };
  constexpr int64_t kBlock = 2048;
  std::vector<Tensor> nearest;
  for (int64_t begin = queries.begin; begin < queries.end; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, queries.end);
    Tensor similarity = torch::zeros({end - begin, samples}, weights.options().dtype(torch::kFloat32));
    for (size_t j = 0; j < features.size(); ++j)
      for (int64_t other = 0; other < samples; other += kBlock) {
        const int64_t other_end = std::min(other + kBlock, samples);
        similarity.slice(1, other, other_end) +=
            weights[static_cast<int64_t>(j)] * unit_rows(j, begin, end).mm(unit_rows(j, other, other_end).t());
      }
    const Tensor own = torch::arange(begin, end, at::device(device).dtype(torch::kInt64)).unsqueeze(1);
    similarity.scatter_(1, own, -2.0);
    nearest.push_back(std::get<1>(similarity.topk(wanted, 1)));
  }
  return nearest.empty() ? torch::empty({0, wanted}, at::device(device).dtype(torch::kInt64)) : at::cat(nearest);
}

Tensor neighbour_average(const Tensor& score, const Tensor& neighbours, double share, const RowBlock& rows) {
  const Tensor all = rows.gather(score);
  const Tensor mean =
      all.index_select(0, neighbours.flatten()).view({score.size(0), neighbours.size(1), score.size(1)}).mean(1);
  return (1 - share) * score + share * mean;
}

}  // namespace tributary

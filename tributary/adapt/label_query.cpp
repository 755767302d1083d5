#include "tributary/adapt/label_query.h"

#include <algorithm>
#include <numeric>

#include "tributary/adapt/feature_rows.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

constexpr int kIterations = 50;

// Squared distances of all rows to `centres` [k, d], [n, k].
Tensor squared_distances(const Tensor& rows, const Tensor& centres) {
  return at::cdist(rows, centres, 2.0, /*compute_mode=*/2).square();
}

// A row drawn with probabilities proportional to `mass` [n], which is not all 0.
int64_t drawn_row(const Tensor& mass, Random& random) {
  const Tensor sums = mass.to(torch::kFloat64).cumsum(0).contiguous();
  const double* const begin = sums.data_ptr<double>();
  const double* const end = begin + sums.numel();
  // The first row whose sum exceeds the draw: it has mass.
  const double* const at = std::upper_bound(begin, end, random.uniform() * end[-1]);
  return std::min<int64_t>(at - begin, sums.numel() - 1);
}

// Centres far from each other (k-means++), where important rows count for more.
Tensor first_centres(const Tensor& rows, const Tensor& importance, int64_t count, Random& random) {
  Tensor chosen = rows.slice(0, 0, count).clone();
  Tensor distance;
  for (int64_t c = 0; c < count; ++c) {
    const Tensor mass = distance.defined() ? importance * distance : importance;
    const bool none_left = mass.sum().item<double>() <= 0;  // all rows are centres already, as of equal pictures
    const int64_t row = drawn_row(none_left ? importance : mass, random);
    chosen[c].copy_(rows[row]);
    const Tensor next = squared_distances(rows, chosen.slice(0, c, c + 1)).squeeze(1);
    distance = distance.defined() ? at::minimum(distance, next) : next;
  }
  return chosen;
}

}  // namespace

Tensor joint_features(const std::vector<Tensor>& features, const Tensor& weights) {
  std::vector<Tensor> parts;
  const torch::Device device = weights.device();
  for (size_t j = 0; j < features.size(); ++j)
    parts.push_back(unit_length_rows(rows_as_float(features[j], 0, features[j].size(0), device)) *
                    weights[static_cast<int64_t>(j)].clamp_min(0).sqrt());
  return at::cat(parts, 1);
}

Tensor representative_rows(const Tensor& features, const Tensor& importance, int64_t count, Random random) {
  const Tensor candidates = (importance > 0).nonzero().flatten();
  TRIBUTARY_CHECK(count > 0 && candidates.size(0) >= count, "{} of {} rows to choose", count, candidates.size(0));
  const Tensor rows = features.index_select(0, candidates).to(torch::kFloat32);
  const Tensor mass = importance.index_select(0, candidates).to(torch::kFloat32);
  Tensor centres = first_centres(rows, mass, count, random), cluster;
  for (int i = 0; i < kIterations; ++i) {
    const Tensor next = squared_distances(rows, centres).argmin(1);
    if (cluster.defined() && torch::equal(cluster, next)) break;
    cluster = next;
    const Tensor total = torch::zeros({count}, mass.options()).index_add(0, cluster, mass).unsqueeze(1);
    const Tensor sum = torch::zeros_like(centres).index_add(0, cluster, rows * mass.unsqueeze(1));
    centres = at::where(total > 0, sum / total.clamp_min(1e-30), centres);  // an empty cluster stays where it is
  }
  const Tensor total = torch::zeros({count}, mass.options()).index_add(0, cluster, mass);
  const Tensor order = std::get<1>(total.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  Tensor distance = squared_distances(rows, centres.index_select(0, order));
  std::vector<int64_t> chosen;
  for (int64_t c = 0; c < count; ++c) {
    const int64_t row = distance.select(1, c).argmin().item<int64_t>();
    chosen.push_back(row);
    distance[row].fill_(std::numeric_limits<float>::infinity());
  }
  return candidates.index_select(0, torch::tensor(chosen, torch::kInt64).to(candidates.device()));
}

}  // namespace tributary

#include "tributary/methods/caida/anchors.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "tributary/adapt/feature_rows.h"
#include "tributary/methods/shot/centroids.h"

namespace tributary {
namespace {

// A mask of the first floor(n/2) of values [n] in ascending or descending order.
Tensor first_half(const Tensor& values, bool descending) {
  const Tensor order = std::get<1>(values.sort(/*stable=*/true, /*dim=*/0, descending));
  const Tensor half = order.narrow(0, 0, values.size(0) / 2);
  return torch::zeros_like(values, at::dtype(torch::kBool)).index_fill_(0, half, true);
}

}  // namespace

Tensor lead(const Tensor& scores) {
  const Tensor best = std::get<0>(scores.topk(2, 1));
  return best.select(1, 0) - best.select(1, 1);
}

Tensor confident_rows(const Tensor& probability_gap, const Tensor& distance_gap) {
  return first_half(probability_gap, /*descending=*/false)
      .logical_not()
      .logical_or(first_half(distance_gap, /*descending=*/true));
}

Tensor nearest_neighbours(const Tensor& rows, int64_t count) {
  const Tensor unit = unit_length_rows(rows);
  const int64_t kept = std::min(count, rows.size(0) - 1);
  std::vector<Tensor> lists;
  for_row_blocks(rows.size(0), rows.size(0), [&](int64_t begin, int64_t end) {
    Tensor cosine = unit.slice(0, begin, end).matmul(unit.t());
    cosine.diagonal(begin).fill_(-std::numeric_limits<double>::infinity());  // a picture is not its own neighbour
    lists.push_back(std::get<1>(cosine.topk(kept, 1)));
  });
  return at::cat(lists);
}

Tensor walk_to_anchors(const Tensor& neighbours, const Tensor& confident, int64_t hops) {
  const int64_t count = neighbours.size(0), listed = neighbours.size(1);
  const Tensor lists = neighbours.contiguous(), trusted = confident.contiguous();
  const int64_t* list = lists.data_ptr<int64_t>();
  const bool* is_trusted = trusted.data_ptr<bool>();
  Tensor anchors = torch::empty({count}, torch::kInt64);
  int64_t* anchor = anchors.data_ptr<int64_t>();
  std::vector<int64_t> visitor(static_cast<size_t>(count), -1);  // picture whose walk was here last
  for (int64_t start = 0; start < count; ++start) {
    anchor[start] = list[start * listed];
    int64_t node = start;
    for (int64_t hop = 0; hop < hops; ++hop) {
      visitor[static_cast<size_t>(node)] = start;
      const int64_t* next = list + node * listed;
      const int64_t* end = next + listed;
      while (next < end && visitor[static_cast<size_t>(*next)] == start) ++next;
      if (next == end) break;  // a small set has no more neighbours
      node = *next;
      if (!is_trusted[node]) continue;
      anchor[start] = node;
      break;
    }
  }
  return anchors;
}

Tensor nearest_confident(const Tensor& rows, const Tensor& confident) {
  const Tensor candidates = confident.nonzero().flatten();
  const Tensor unit = unit_length_rows(rows);
  const Tensor trusted = unit.index_select(0, candidates).t();
  std::vector<Tensor> found;
  for_row_blocks(rows.size(0), candidates.size(0), [&](int64_t begin, int64_t end) {
    found.push_back(candidates.index_select(0, unit.slice(0, begin, end).matmul(trusted).argmax(1)));
  });
  const Tensor itself = torch::arange(rows.size(0), candidates.options());  // also if it has a duplicate
  return at::where(confident, itself, at::cat(found));
}

Tensor draw_shares(int64_t count, const ShareOptions& options, Random random) {
  Tensor shares = torch::empty({count}, torch::kFloat32);
  float* share = shares.data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) share[i] = static_cast<float>(options.mean + options.deviation * random.normal());
  return options.clip ? shares.clamp(0, 1) : shares;
}

AnchoredLabels anchored_labels(const Tensor& probabilities, const Tensor& rows, const Tensor& backbone,
                               const Tensor& shares, AnchorSearch search) {
  const int64_t classes = probabilities.size(1);
  const Tensor distances = cosine_distances(rows, centroids(rows, probabilities));
  const Tensor first = distances.argmin(1);
  AnchoredLabels result;
  result.confident = confident_rows(lead(probabilities), lead(-distances));
  result.anchors = search == AnchorSearch::kNearest
                       ? nearest_confident(backbone, result.confident)
                       : walk_to_anchors(nearest_neighbours(backbone, kAnchorNeighbours).cpu(), result.confident.cpu())
                             .to(rows.device());
  const Tensor share = shares.unsqueeze(1);
  const Tensor drawn = share * rows + (1 - share) * rows.index_select(0, result.anchors);
  const Tensor members = hard_weights(first, classes);
  result.labels = nearest_live(cosine_distances(drawn, centroids(drawn, members)), members.sum(0));
  return result;
}

}  // namespace tributary

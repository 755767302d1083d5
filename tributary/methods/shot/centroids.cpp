#include "tributary/methods/shot/centroids.h"

#include <algorithm>
#include <limits>

#include "tributary/adapt/feature_rows.h"

namespace tributary {
namespace {

constexpr double kUnreachable = std::numeric_limits<double>::infinity();

}  // namespace

Tensor hard_weights(const Tensor& labels, int64_t classes) {
  return torch::zeros({labels.size(0), classes}, labels.options().dtype(torch::kFloat32))
      .scatter_(1, labels.unsqueeze(1), 1);
}

Tensor with_one_normalised(const Tensor& features) {
  const Tensor longer = at::cat({features, torch::ones({features.size(0), 1}, features.options())}, 1);
  return longer / longer.norm(2, {1}, true);
}

Tensor centroids(const Tensor& rows, const Tensor& weights) {
  return weights.t().matmul(rows) / (1e-8 + weights.sum(0)).unsqueeze(1);
}

Tensor cosine_distances(const Tensor& rows, const Tensor& centroids) {
  const Tensor length = centroids.norm(2, {1});
  const Tensor cosine = rows.matmul(centroids.t()) / (rows.norm(2, {1}, true) * length);
  return at::where(length > 0, 1 - cosine, torch::full({}, kUnreachable, cosine.options()));
}

Tensor class_counts(const Tensor& labels, int64_t classes) {
  return hard_weights(labels, classes).sum(0);
}

Tensor nearest_live(const Tensor& distances, const Tensor& members) {
  return distances.masked_fill((members <= 0).unsqueeze(0), kUnreachable).argmin(1);
}

Tensor centroid_labels(const Tensor& rows, const Tensor& probabilities) {
  const int64_t classes = probabilities.size(1);
  Tensor weights = probabilities;
  Tensor labels = probabilities.argmax(1);
  for (int pass = 0; pass < 2; ++pass) {
    labels = nearest_live(cosine_distances(rows, centroids(rows, weights)), class_counts(labels, classes));
    weights = hard_weights(labels, classes);
  }
  return labels;
}

Tensor centroid_labels_in_blocks(const Tensor& features, const Tensor& probabilities) {
  const int64_t classes = probabilities.size(1);
  const auto for_blocks = [&](const auto& work) {
    for_row_blocks(features.size(0), std::max(features.size(1), classes), [&](int64_t begin, int64_t end) {
      work(begin, end, with_one_normalised(rows_as_float(features, begin, end, probabilities.device())));
    });
  };
  Tensor labels = probabilities.argmax(1);
  for (int pass = 0; pass < 2; ++pass) {
    Tensor sums = torch::zeros({classes, features.size(1) + 1}, probabilities.options());
    Tensor mass = torch::zeros({classes}, probabilities.options());
    for_blocks([&](int64_t begin, int64_t end, const Tensor& rows) {
      const Tensor weights =
          pass == 0 ? probabilities.slice(0, begin, end) : hard_weights(labels.slice(0, begin, end), classes);
      sums += weights.t().matmul(rows);
      mass += weights.sum(0);
    });
    const Tensor middles = sums / (1e-8 + mass).unsqueeze(1);
    const Tensor members = class_counts(labels, classes);
    Tensor nearest = torch::empty_like(labels);
    for_blocks([&](int64_t begin, int64_t end, const Tensor& rows) {
      nearest.slice(0, begin, end).copy_(nearest_live(cosine_distances(rows, middles), members));
    });
    labels = nearest;
  }
  return labels;
}

}  // namespace tributary

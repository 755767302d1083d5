#include "tributary/methods/decision/source_centroids.h"

#include "tributary/methods/shot/centroids.h"

namespace tributary {

Tensor source_centroids(const Tensor& rows, const Tensor& probabilities, EmptyCentroid empty) {
  const Tensor soft = centroids(rows, probabilities);
  const Tensor members = hard_weights(cosine_distances(rows, soft).argmin(1), probabilities.size(1));
  const Tensor hard = centroids(rows, members);
  if (empty == EmptyCentroid::kZero) return hard;
  return at::where((members.sum(0) > 0).unsqueeze(1), hard, soft);
}

Tensor nearest_centroid(const Tensor& rows, const Tensor& centroids) {
  constexpr int64_t kExact = 2;  // cdist without matrix products, whose rounding can change which centroid is nearest
  return at::cdist(rows, centroids, 2, kExact).argmin(1);
}

}  // namespace tributary

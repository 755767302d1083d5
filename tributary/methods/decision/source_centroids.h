// Pseudo-labels from the fused centroids of several sources (Ahmed et al., CVPR 2021; docs/baselines.md, DECISION).
//
// Each source clusters the target set in its own feature space. Features and centroids of all sources are then fused
// with the source weights, and each picture takes the label of the nearest centroid, so that labels follow the weights.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// The centroid of a class without pictures after the first labels. The released code sets it to zero. Fused rows are
// shorter than one, so zero is nearer to them than many true centroids, and attracts them.
enum class EmptyCentroid {
  kSoft,  // keep the centroid weighted by the predictions
  kZero,
};

// The centroids [K, d] of unit rows g [n, d] with predictions `probabilities` [n, K]: soft centroids label each row by
// the smallest cosine distance, and the final centroids are the means of those labels.
Tensor source_centroids(const Tensor& rows, const Tensor& probabilities, EmptyCentroid empty);

// The nearest of `centroids` [K, d] by Euclidean distance for each row of [n, d]: int64 [n].
Tensor nearest_centroid(const Tensor& rows, const Tensor& centroids);

}  // namespace tributary

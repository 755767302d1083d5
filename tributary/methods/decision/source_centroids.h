// Labels from the fused centroids of several sources (Ahmed et al., CVPR 2021; docs/method.md, DECISION).
//
// Each source finds the groups of the target set in its own features. Pictures and centroids of all sources are then
// fused by the sources' weights, and a picture belongs to the centroid next to it, so that labels follow the weights.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// What becomes of the centroid of a class that nobody has after the first labels. The released code sets it to zero;
// but zero is nearer to fused rows, which are shorter than one, than many a true centroid, and attracts them.
enum class EmptyCentroid {
  kSoft,  // it stays where the predictions put it
  kZero,
};

// The centroids [K, d] of rows g [n, d] of length one whose predictions are `probabilities` [n, K]: soft ones label
// each row by the smallest cosine distance, and those labels make the centroids.
Tensor source_centroids(const Tensor& rows, const Tensor& probabilities, EmptyCentroid empty);

// The nearest of `centroids` [K, d] by Euclidean distance for each of rows [n, d]: int64 [n].
Tensor nearest_centroid(const Tensor& rows, const Tensor& centroids);

}  // namespace tributary

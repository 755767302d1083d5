// Pseudo-labels from class centroids in feature space (docs/baselines.md, SHOT; also in DECISION and CAiDA).
//
// On a new domain a network mislabels pictures it is unsure of, but its features still form clusters. Centroids
// weighted by the predictions find the clusters, and the nearest centroid is a better label than the prediction.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// [phi ; 1] / |[phi ; 1]| for features [n, d]: unit rows in d + 1 dimensions.
Tensor with_one_normalised(const Tensor& features);

// sum_i A_ik g_i / (1e-8 + sum_i A_ik) for weights A [n, K] and rows g [n, d]: [K, d].
Tensor centroids(const Tensor& rows, const Tensor& weights);

// One-hot weights A for labels: int64 [n] to float [n, K].
Tensor hard_weights(const Tensor& labels, int64_t classes);

// 1 - cos between every row and every centroid, [n, K]. A centroid of length zero is at distance infinity.
Tensor cosine_distances(const Tensor& rows, const Tensor& centroids);

// The labels, int64 [n], of rows g [n, d] with predictions `probabilities` [n, K]: the nearest soft centroid among
// classes with pictures, then once more with the centroids of these labels.
Tensor centroid_labels(const Tensor& rows, const Tensor& probabilities);

// The same for features [n, d] if the rows g = with_one_normalised(features) do not fit in memory: computes them in
// blocks, four times.
Tensor centroid_labels_in_blocks(const Tensor& features, const Tensor& probabilities);

// The nearest column of distances [n, K] among classes with a positive entry in `members` [K].
Tensor nearest_live(const Tensor& distances, const Tensor& members);

// The number of labels, int64 [n], per class: float [K].
Tensor class_counts(const Tensor& labels, int64_t classes);

}  // namespace tributary

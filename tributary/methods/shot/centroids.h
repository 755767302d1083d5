// Labels from class centroids in the space of features (docs/method.md, SHOT; also in DECISION and CAiDA).
//
// A network that meets a new domain labels it badly where it is unsure, but its features still form groups. Centroids
// weighted by the predictions find the groups, and the nearest centroid labels better than the network does.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// [phi ; 1] / |[phi ; 1]| for features [n, d]: rows of length one in d + 1 dimensions.
Tensor with_one_normalised(const Tensor& features);

// sum_i A_ik g_i / (1e-8 + sum_i A_ik) for weights A [n, K] and rows g [n, d]: [K, d].
Tensor centroids(const Tensor& rows, const Tensor& weights);

// The weights A that labels stand for: 1 at every row's label, int64 [n] to float [n, K].
Tensor hard_weights(const Tensor& labels, int64_t classes);

// 1 - cos between every row and every centroid, [n, K]. A centroid of length zero is at infinity.
Tensor cosine_distances(const Tensor& rows, const Tensor& centroids);

// The labels, int64 [n], of rows g [n, d] whose predictions are `probabilities` [n, K]: soft centroids, the nearest of
// the classes that somebody has; then once more with the centroids of these labels.
Tensor centroid_labels(const Tensor& rows, const Tensor& probabilities);

// The same of features [n, d] that would not fit in memory as rows g = with_one_normalised(features): these are made in
// blocks, four times over.
Tensor centroid_labels_in_blocks(const Tensor& features, const Tensor& probabilities);

// The nearest column of distances [n, K] among classes with a positive entry of `members` [K].
Tensor nearest_live(const Tensor& distances, const Tensor& members);

// How many labels, int64 [n], each of K classes has, float [K].
Tensor class_counts(const Tensor& labels, int64_t classes);

}  // namespace tributary

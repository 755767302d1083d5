// Keeps a large class from dominating the domain weights, and recognises target sets that it dominates.
//
// The domain weights ask for predictions that are diverse over the target set. If one class has most of it, they favour
// sources that spread its samples over the other classes. Here no pseudo-class counts for more than `cap` times the
// mean share of the classes that occur: samples of larger ones weigh less. Balanced target sets are not touched.
#pragma once

#include <vector>

#include "tributary/comm/row_block.h"

namespace tributary {

// The size up to which every class counts: the largest u with u <= (cap / P) sum_k min(n_k, u), where n_k are the class
// sizes and P counts the classes that occur. `cap` is above 1. Without samples it is 0.
double class_limit(const std::vector<int64_t>& sizes, double cap);

// The number of samples of each of the `classes`, for labels int64 [n] that are not negative.
// Ranks may keep the labels of their own rows, here and below.
std::vector<int64_t> class_sizes(const Tensor& label, int64_t classes, const RowBlock& rows = {});

// The weight min(1, u / n_k) of every sample of class k, scaled to mean 1, float32 [n] on the device of `label`.
Tensor balanced_sample_weights(const Tensor& label, int64_t classes, double cap, const RowBlock& rows = {});

// The share of the largest class.
double largest_share(const Tensor& label, int64_t classes, const RowBlock& rows = {});

// Whether the classes look skewed, by labels of the unadapted sources: the largest share exceeds 0.15 + 1 / K.
// BatchNorm statistics of such a set are those of its large classes.
bool is_skewed(double largest_share, int64_t classes);

// Whether one class dominates the target set, by labels of the unadapted sources: its share exceeds 0.3 + 1.2 / K, and
// the sources agree beyond chance (`trust`, their mean kappa, is at least 0.05). Self-training then teaches the other
// classes mostly samples of the large one that were labelled wrong.
bool is_dominated(double largest_share, double trust, int64_t classes);

}  // namespace tributary

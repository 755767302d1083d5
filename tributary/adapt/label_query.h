// Chooses the samples whose labels would help most.
//
// A label helps if it is not yet known, and if it speaks for many samples. Uncertain samples are clustered in the joint
// feature space, where an uncertain sample counts for more; the sample nearest to each centre is asked for (CLUE,
// Prabhu et al., ICCV 2021).
#pragma once

#include <vector>

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

// The features [n, d_j] of all sources as one row per sample, float32 [n, sum d_j]: each of length 1, times the root of
// the source's weight in `weights` [m], which sum to 1.
Tensor joint_features(const std::vector<Tensor>& features, const Tensor& weights);

// `count` different rows of `features` [n, d], most valuable first: nearest to the centres of a weighted k-means
// clustering with `importance` [n], not negative. Rows of importance 0 are not chosen; there must be at least `count`
// others. The larger the importance of a cluster, the earlier its row.
Tensor representative_rows(const Tensor& features, const Tensor& importance, int64_t count, Random random);

}  // namespace tributary

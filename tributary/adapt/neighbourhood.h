// Scores averaged over neighbours in the joint feature space of all sources.
//
// Samples that lie next to each other mostly share a class, also where single predictions are wrong. A sample's score
// is therefore mixed with the mean score of its nearest neighbours.
#pragma once

#include <vector>

#include "tributary/comm/row_block.h"

namespace tributary {

// The `count` nearest neighbours of every sample by sum_j w_j cos(phi_j(x), phi_j(x')), itself excluded: int64 [n,
// count], the nearest first. `features` [n, d_j] per source, `weights` [m] with sum 1.
// Ranks that keep their own rows get the neighbours of these, as numbers in the whole set; they exchange all features,
// which are then whole on every rank.
Tensor joint_neighbours(const std::vector<Tensor>& features, const Tensor& weights, int64_t count,
                        const RowBlock& rows = {});

// (1 - share) score_i + share mean_{j in neighbours of i} score_j for score [n, K].
// Divided rows: as above, they exchange all scores.
Tensor neighbour_average(const Tensor& score, const Tensor& neighbours, double share, const RowBlock& rows = {});

}  // namespace tributary

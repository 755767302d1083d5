// t-SNE (van der Maaten and Hinton, JMLR 2008): features as points of the plane, neighbours beside each other.
//
// Neighbours are found where the features lie (nearest.h), affinities and the descent are the host's
// (tsne_affinities.h, tsne_descent.h): their work grows with n log n.
#pragma once

#include "tributary/base/tensor.h"
#include "tributary/tsne/options.h"

namespace tributary {

struct TsneResult {
  Tensor embedding;       // float [n, 2] on the host, around zero
  double divergence = 0;  // KL(p || q), less is better
  double perplexity = 0;  // the one used: less than asked for where there are few points
};

// Embeds `features` [n, d] of any floating type and on any device. The points begin at `start` [n, 2], so that an
// embedding can go on from another one, or else at their first two principal components, made tiny; either way with a
// little noise of the seed that parts duplicates. To follow features that change, start from the last embedding with
// `early` 0 and some 300 iterations; otherwise it melts before it forms again. Features that are not finite are a
// WorkError.
TsneResult tsne(const Tensor& features, const TsneOptions& options = {}, const Tensor& start = {});

}  // namespace tributary

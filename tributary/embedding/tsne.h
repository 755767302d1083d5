// t-SNE (van der Maaten and Hinton, JMLR 2008): embeds features in the plane.
//
// Nearest neighbours are found on the features' device (nearest_neighbours.h). Affinities and gradient descent run on
// the host in O(n log n) (tsne/affinities.h, tsne/descent.h).
#pragma once

#include "tributary/base/tensor.h"
#include "tributary/tsne/options.h"

namespace tributary {

struct TsneResult {
  Tensor embedding;       // float [n, 2] on the host, centred at zero
  double divergence = 0;  // KL(p || q), lower is better
  double perplexity = 0;  // the perplexity used, reduced if there are few points
};

// Embeds `features` [n, d] of any floating-point dtype on any device. Points are initialised with `start` [n, 2], or
// with scaled-down first two principal components; both with a little noise from the seed, which separates duplicates.
// To follow features that change, start from the previous embedding with `early` = 0 and about 300 iterations; early
// exaggeration would dissolve it. Throws a WorkError for non-finite features.
TsneResult tsne(const Tensor& features, const TsneOptions& options = {}, const Tensor& start = {});

}  // namespace tributary

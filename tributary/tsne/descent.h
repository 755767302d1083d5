// The descent of t-SNE: points of the plane move until they are neighbours as much as the affinities ask.
//
// It minimises the divergence KL(p || q) with q_ij = w_ij / Z (tsne_repulsion.h) as scikit-learn does: plain gradient
// descent with momentum and a gain for every coordinate, which grows while the coordinate keeps its direction.
#pragma once

#include <vector>

#include "tributary/tsne/affinities.h"
#include "tributary/tsne/options.h"

namespace tributary {

struct Places {
  std::vector<float> x, y;
};

// options.rate, or its default for so many points.
double learning_rate(const TsneOptions& options, int64_t points);

// Moves the points from where they are. Returns the divergence of where they end.
double descend(const Affinities& affinities, Places& places, const TsneOptions& options);

}  // namespace tributary

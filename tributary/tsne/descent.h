// The optimisation of t-SNE: gradient descent on the positions of points in the plane.
//
// Minimises KL(p || q) with q_ij = w_ij / Z (repulsion.h) like scikit-learn: gradient descent with momentum and a gain
// per coordinate, which grows while the coordinate keeps its direction.
#pragma once

#include <vector>

#include "tributary/tsne/affinities.h"
#include "tributary/tsne/options.h"

namespace tributary {

struct Places {
  std::vector<float> x, y;
};

// options.rate, or its default for this number of points.
double learning_rate(const TsneOptions& options, int64_t points);

// Optimises `places`, starting from the given positions. Returns the final KL divergence.
double descend(const Affinities& affinities, Places& places, const TsneOptions& options);

}  // namespace tributary

// The repulsive half of t-SNE's gradient, exact or by Barnes-Hut.
//
// With w_ij = 1 / (1 + |y_i - y_j|^2), the force on i is sum_j w_ij^2 (y_i - y_j) / Z, where Z is the sum of w over all
// pairs. Few points are computed pair by pair. For many, the points of a quadtree leaf share an interaction list of
// points and distant nodes, and the sums over it are vectorised. The work is divided into parts, which can run in any
// order and on any thread with bitwise equal results. A node counts with its variance s: the mean weight of an
// isotropic distribution is w + s w^2 (1 - 2w) up to fourth moments, where the second term is s / 4 times the Laplacian
// of w. Without this correction, as in the usual Barnes-Hut t-SNE, Z is up to a percent too small.
#pragma once

#include <cstdint>
#include <vector>

#include "tributary/tsne/quadtree.h"

namespace tributary {

class Repulsion {
 public:
  // Up to this number of points, all pairs cost no more than a tree.
  static constexpr int64_t kPairs = 1024;

  // `angle` as in TsneOptions; exact if it is 0 or there are at most kPairs points.
  Repulsion(int64_t points, double angle);

  // Sets the positions of the points.
  void place(const float* x, const float* y);
  int64_t parts() const;
  void compute(int64_t part);

  // Valid after all parts are computed: sum_j w_ij^2 (y_i - y_j) per point, and Z.
  const std::vector<float>& x() const { return push_x_; }
  const std::vector<float>& y() const { return push_y_; }
  double total() const;

 private:
  // Points or nodes that repel, with count and variance.
  struct Sources {
    std::vector<float> x, y, count, variance;
    void add(const QuadNode& node);
    void add(float at_x, float at_y, float points = 1);
    void clear();
    void fill_lanes();
  };
  // Points of one leaf that are repelled: `first` to `last` - 1 in the tree's order.
  struct Targets {
    int32_t first, last;
  };
  void list_sources(const Targets& targets, Sources& sources) const;
  void push(const Targets& targets, const Sources& sources);

  const int64_t points_;
  const float angle2_;
  const bool by_pairs_;
  Quadtree tree_;
  Sources all_;  // for all pairs
  std::vector<Targets> targets_;
  std::vector<float> push_x_, push_y_, weight_;
};

}  // namespace tributary

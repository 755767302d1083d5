// How the points of an embedding push each other apart: the half of t-SNE's gradient that concerns every pair.
//
// With w_ij = 1 / (1 + |y_i - y_j|^2) it is sum_j w_ij^2 (y_i - y_j) / Z, where Z sums w over all pairs: minus a
// quarter of the slope of ln Z. Few points are taken pair by pair. Of many, those in one leaf of a quadtree share a
// list of what they see, distant crowds as one thing each, and the sums over it are vector instructions. The work falls
// into parts, which may be done in any order and on any thread and give the same to the last bit.
//
// A crowd of variance s around its mean, if it were round, would have the mean weight w + s w^2 (1 - 2w) up to fourth
// moments: the second term is s / 4 of the Laplacian of w, and its slope is the crowd's push. Without it, as in the
// usual Barnes-Hut t-SNE, Z comes out up to a percent too small.
#pragma once

#include <cstdint>
#include <vector>

#include "tributary/tsne/quadtree.h"

namespace tributary {

class Repulsion {
 public:
  // Up to so many points, pairs cost no more than a tree.
  static constexpr int64_t kPairs = 1024;

  // Of so many points, with TsneOptions::angle; pair by pair if that is 0, or if the points are few.
  Repulsion(int64_t points, double angle);

  // Where the points are from now on.
  void place(const float* x, const float* y);
  int64_t parts() const;
  void compute(int64_t part);

  // Once all parts are computed: sum_j w_ij^2 (y_i - y_j) of every point, and Z.
  const std::vector<float>& x() const { return push_x_; }
  const std::vector<float>& y() const { return push_y_; }
  double total() const;

 private:
  // What pushes: points, or crowds that count as several and spread.
  struct Sources {
    std::vector<float> x, y, count, variance;
    void add(const QuadNode& crowd);
    void add(float at_x, float at_y, float points = 1);
    void clear();
    void fill_lanes();
  };
  // What is pushed: points of one leaf, `first` to `last` - 1 in the tree's order.
  struct Targets {
    int32_t first, last;
  };
  void see(const Targets& targets, Sources& sources) const;
  void push(const Targets& targets, const Sources& sources);

  const int64_t points_;
  const float angle2_;
  const bool by_pairs_;
  Quadtree tree_;
  Sources all_;  // by pairs
  std::vector<Targets> targets_;
  std::vector<float> push_x_, push_y_, weight_;
};

}  // namespace tributary

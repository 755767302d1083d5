// A quadtree over points in the plane, with the mean and variance of every node.
//
// From a distance, the points of a node act like as many points at their mean, which reduces n-body interactions to
// O(n log n) (Barnes and Hut, Nature 1986). Points are sorted in Z-order (Morton codes), in which every cell is a
// contiguous range. Nodes are stored in depth-first order, so that a traversal is a loop.
#pragma once

#include <cstdint>
#include <vector>

namespace tributary {

struct QuadNode {
  float x = 0, y = 0;          // mean of the points
  float variance = 0;          // mean squared distance from it
  float size = 0;              // longer side of the bounding box
  int32_t begin = 0, end = 0;  // range of the points, in the tree's order
  int32_t next = 0;            // the node after this subtree

  int32_t count() const { return end - begin; }
};

class Quadtree {
 public:
  static constexpr int32_t kLeaf = 32;  // maximum number of points of a leaf

  // Rebuilds the tree over the points (x[i], y[i]). Deterministic.
  void build(const float* x, const float* y, int64_t points);

  const std::vector<QuadNode>& nodes() const { return nodes_; }  // the root is first; empty without points
  // The points in the tree's order: coordinates and original indices.
  const std::vector<float>& x() const { return x_; }
  const std::vector<float>& y() const { return y_; }
  const std::vector<int32_t>& order() const { return order_; }

 private:
  void sort_by_code();
  struct Box {
    float low_x, low_y, high_x, high_y;
  };
  Box add_node(int32_t begin, int32_t end);
  Box fill_leaf(QuadNode& node) const;
  Box add_children(QuadNode& node);

  std::vector<QuadNode> nodes_;
  std::vector<float> x_, y_;
  std::vector<int32_t> order_, spare_order_;
  std::vector<uint64_t> code_, spare_code_;  // Morton codes
};

}  // namespace tributary

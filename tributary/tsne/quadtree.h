// A quadtree over points of the plane: crowds of points by their mean, from all of them down to a few.
//
// Seen from afar a crowd acts like as many points at its mean, which makes the work of n points upon n points one of
// n log n (Barnes and Hut, Nature 1986). Points are sorted along a Z-shaped curve, in which every cell of the tree is a
// range; nodes lie in the order of a walk that visits parents before children, so that a walk is a loop.
#pragma once

#include <cstdint>
#include <vector>

namespace tributary {

struct QuadNode {
  float x = 0, y = 0;          // the mean of its points
  float variance = 0;          // the mean square of their distances from it
  float size = 0;              // the longer side of the box around them, which is smaller than the cell
  int32_t begin = 0, end = 0;  // which they are, in the tree's order
  int32_t next = 0;            // the node behind all those below this one; a leaf's own successor

  int32_t count() const { return end - begin; }
};

class Quadtree {
 public:
  static constexpr int32_t kLeaf = 32;  // a node of at most so many points has no children

  // Builds the tree anew over points (x[i], y[i]). The same points give the same tree.
  void build(const float* x, const float* y, int64_t points);

  const std::vector<QuadNode>& nodes() const { return nodes_; }  // the first is the root; empty without points
  // The points in the tree's order: where they lie and which ones they are.
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
  std::vector<uint64_t> code_, spare_code_;  // places along the curve
};

}  // namespace tributary

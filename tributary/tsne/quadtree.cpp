#include "tributary/tsne/quadtree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace tributary {
namespace {

constexpr int kLevels = 22;  // of the tree: points closer than 2^-22 of the whole share a leaf
constexpr int kDigit = 11;   // bits per pass of the radix sort; divides 2 * kLevels

// Spreads the bits of `v` to every other position.
uint64_t spread(uint64_t v) {
  v = (v | v << 16) & 0x0000ffff0000ffff;
  v = (v | v << 8) & 0x00ff00ff00ff00ff;
  v = (v | v << 4) & 0x0f0f0f0f0f0f0f0f;
  v = (v | v << 2) & 0x3333333333333333;
  return (v | v << 1) & 0x5555555555555555;
}

double square(double value) {
  return value * value;
}

}  // namespace

void Quadtree::build(const float* x, const float* y, int64_t points) {
  const auto count = static_cast<size_t>(points);
  nodes_.clear();
  order_.resize(count);
  code_.resize(count);
  x_.resize(count);
  y_.resize(count);
  if (points == 0) return;
  const auto [low_x, high_x] = std::minmax_element(x, x + points);
  const auto [low_y, high_y] = std::minmax_element(y, y + points);
  const double left = *low_x, bottom = *low_y, side = std::max(*high_x - left, *high_y - bottom);
  constexpr double kCells = (1 << kLevels) - 1;
  const double scale = side > 0 ? kCells / side : 0;
  // NaN is mapped to the first cell.
  const auto cell = [&](double distance) {
    return static_cast<uint64_t>(std::min(std::max(0.0, distance * scale), kCells));
  };
  for (size_t i = 0; i < count; ++i) code_[i] = spread(cell(x[i] - left)) | spread(cell(y[i] - bottom)) << 1;
  std::iota(order_.begin(), order_.end(), 0);
  sort_by_code();
  for (size_t i = 0; i < count; ++i) x_[i] = x[order_[i]], y_[i] = y[order_[i]];
  add_node(0, static_cast<int32_t>(points));
}

// LSD radix sort. It is stable, so equal codes keep the order of the points.
void Quadtree::sort_by_code() {
  spare_code_.resize(code_.size());
  spare_order_.resize(order_.size());
  for (int shift = 0; shift < 2 * kLevels; shift += kDigit) {
    const auto digit = [shift](uint64_t code) { return code >> shift & ((1u << kDigit) - 1); };
    std::array<uint32_t, (1u << kDigit) + 1> offset{};
    for (const uint64_t code : code_) ++offset[digit(code) + 1];
    std::partial_sum(offset.begin(), offset.end(), offset.begin());
    for (size_t i = 0; i < code_.size(); ++i) {
      const uint32_t to = offset[digit(code_[i])]++;
      spare_code_[to] = code_[i];
      spare_order_[to] = order_[i];
    }
    code_.swap(spare_code_);
    order_.swap(spare_order_);
  }
}

Quadtree::Box Quadtree::add_node(int32_t begin, int32_t end) {
  const size_t index = nodes_.size();
  nodes_.emplace_back();
  QuadNode node;
  node.begin = begin, node.end = end;
  const bool leaf = node.count() <= kLeaf || code_[begin] == code_[end - 1];
  const Box box = leaf ? fill_leaf(node) : add_children(node);
  node.size = std::max(box.high_x - box.low_x, box.high_y - box.low_y);
  node.next = static_cast<int32_t>(nodes_.size());
  nodes_[index] = node;
  return box;
}

Quadtree::Box Quadtree::fill_leaf(QuadNode& node) const {
  Box box{x_[node.begin], y_[node.begin], x_[node.begin], y_[node.begin]};
  double sum_x = 0, sum_y = 0, sum = 0;
  for (int32_t i = node.begin; i < node.end; ++i) {
    box = {std::min(box.low_x, x_[i]), std::min(box.low_y, y_[i]), std::max(box.high_x, x_[i]),
           std::max(box.high_y, y_[i])};
    sum_x += x_[i];
    sum_y += y_[i];
  }
  node.x = static_cast<float>(sum_x / node.count());
  node.y = static_cast<float>(sum_y / node.count());
  for (int32_t i = node.begin; i < node.end; ++i) sum += square(x_[i] - node.x) + square(y_[i] - node.y);
  node.variance = static_cast<float>(sum / node.count());
  return box;
}

Quadtree::Box Quadtree::add_children(QuadNode& node) {
  const auto first_child = static_cast<int32_t>(nodes_.size());
  // Skips to the first level at which the points split, so that a node has at least two children.
  const int shift = (std::bit_width(code_[node.begin] ^ code_[node.end - 1]) - 1) / 2 * 2;
  Box box{};
  for (int32_t first = node.begin; first < node.end;) {
    const auto same = [&](uint64_t code) { return code >> shift == code_[first] >> shift; };
    const auto after = std::partition_point(code_.begin() + first, code_.begin() + node.end, same);
    const auto last = static_cast<int32_t>(after - code_.begin());
    const Box part = add_node(first, last);
    box = first == node.begin ? part
                              : Box{std::min(box.low_x, part.low_x), std::min(box.low_y, part.low_y),
                                    std::max(box.high_x, part.high_x), std::max(box.high_y, part.high_y)};
    first = last;
  }
  const auto over_children = [&](auto value) {
    double sum = 0;
    for (auto c = first_child; c < static_cast<int32_t>(nodes_.size()); c = nodes_[c].next)
      sum += value(nodes_[c]) * nodes_[c].count();
    return static_cast<float>(sum / node.count());
  };
  node.x = over_children([](const QuadNode& child) { return double{child.x}; });
  node.y = over_children([](const QuadNode& child) { return double{child.y}; });
  node.variance = over_children(
      [&](const QuadNode& child) { return child.variance + square(child.x - node.x) + square(child.y - node.y); });
  return box;
}

}  // namespace tributary

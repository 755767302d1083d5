// Compiled with -ffast-math, so that the sums over sources are vectorised.
#include "tributary/tsne/repulsion.h"

#include <algorithm>
#include <numeric>

#include "tributary/base/clones.h"

namespace tributary {
namespace {

constexpr size_t kLanes = 16;           // of the widest vector instructions
constexpr int64_t kTargetsPerPart = 8;  // enough work for a thread

struct Push {
  float x, y, weight;
};

// The sums of w^2 (y - y_j) and of w over all sources.
TRIBUTARY_CLONES Push push_on(float x, float y, const float* source_x, const float* source_y, const float* count,
                              const float* variance, size_t sources) {
  Push sum{};
  for (size_t s = 0; s < sources; ++s) {
    const float dx = x - source_x[s], dy = y - source_y[s];
    const float w = 1 / (1 + dx * dx + dy * dy), weight = w * count[s], spread = w * variance[s];
    const float force = weight * w * (1 + 2 * spread * (1 - 3 * w));
    sum.weight += weight * (1 + spread * (1 - 2 * w));
    sum.x += force * dx;
    sum.y += force * dy;
  }
  return sum;
}

float square(float value) {
  return value * value;
}

// The distance of a value from the interval [low, high].
float gap(float value, float low, float high) {
  return std::max({0.f, low - value, value - high});
}

}  // namespace

void Repulsion::Sources::add(const QuadNode& node) {
  add(node.x, node.y, static_cast<float>(node.count()));
  variance.back() = node.variance;
}

void Repulsion::Sources::add(float at_x, float at_y, float points) {
  x.push_back(at_x);
  y.push_back(at_y);
  count.push_back(points);
  variance.push_back(0);
}

void Repulsion::Sources::clear() {
  x.clear();
  y.clear();
  count.clear();
  variance.clear();
}

// Pads with sources of count 0, so that vectorised loops have no remainder.
void Repulsion::Sources::fill_lanes() {
  while (x.size() % kLanes != 0) add(0, 0, 0);
}

Repulsion::Repulsion(int64_t points, double angle)
    : points_(points),
      angle2_(static_cast<float>(angle * angle)),
      by_pairs_(angle == 0 || points <= kPairs),
      push_x_(static_cast<size_t>(points)),
      push_y_(static_cast<size_t>(points)),
      weight_(static_cast<size_t>(points)) {}

void Repulsion::place(const float* x, const float* y) {
  tree_.build(x, y, points_);
  targets_.clear();
  const auto& nodes = tree_.nodes();
  for (int32_t leaf = 0; leaf < static_cast<int32_t>(nodes.size()); ++leaf) {
    if (nodes[leaf].next != leaf + 1) continue;
    // A leaf exceeds kLeaf only if its points nearly coincide.
    for (int32_t first = nodes[leaf].begin; first < nodes[leaf].end; first += Quadtree::kLeaf)
      targets_.push_back({first, std::min(first + Quadtree::kLeaf, nodes[leaf].end)});
  }
  if (!by_pairs_) return;
  all_.clear();
  for (int64_t i = 0; i < points_; ++i) all_.add(tree_.x()[i], tree_.y()[i]);
  all_.fill_lanes();
}

int64_t Repulsion::parts() const {
  return (static_cast<int64_t>(targets_.size()) + kTargetsPerPart - 1) / kTargetsPerPart;
}

void Repulsion::compute(int64_t part) {
  Sources listed;
  const auto first = static_cast<size_t>(part * kTargetsPerPart);
  for (size_t t = first; t < std::min(first + kTargetsPerPart, targets_.size()); ++t) {
    if (!by_pairs_) list_sources(targets_[t], listed);
    push(targets_[t], by_pairs_ ? all_ : listed);
  }
}

double Repulsion::total() const {
  constexpr double kMinTotal = 1e-9;  // if points are so far apart that their weights vanish
  return std::max(std::accumulate(weight_.begin(), weight_.end(), 0.0), kMinTotal);
}

// Builds the interaction list shared by all targets. It includes the targets themselves, as single points.
void Repulsion::list_sources(const Targets& targets, Sources& sources) const {
  const auto& nodes = tree_.nodes();
  const auto [low_x, high_x] = std::minmax_element(tree_.x().begin() + targets.first, tree_.x().begin() + targets.last);
  const auto [low_y, high_y] = std::minmax_element(tree_.y().begin() + targets.first, tree_.y().begin() + targets.last);
  sources.clear();
  for (int32_t n = 0; n < static_cast<int32_t>(nodes.size());) {
    const QuadNode& node = nodes[n];
    const float distance2 = square(gap(node.x, *low_x, *high_x)) + square(gap(node.y, *low_y, *high_y));
    const bool inside = node.begin <= targets.first && targets.last <= node.end;
    // Coinciding points are one source with their count, even for themselves.
    if (node.size == 0 || (!inside && square(node.size) <= angle2_ * distance2)) {
      sources.add(node);
      n = node.next;
      continue;
    }
    if (node.next == n + 1)
      for (int32_t i = node.begin; i < node.end; ++i) sources.add(tree_.x()[i], tree_.y()[i]);
    ++n;
  }
  sources.fill_lanes();
}

void Repulsion::push(const Targets& targets, const Sources& sources) {
  for (int32_t i = targets.first; i < targets.last; ++i) {
    const Push sum = push_on(tree_.x()[i], tree_.y()[i], sources.x.data(), sources.y.data(), sources.count.data(),
                             sources.variance.data(), sources.x.size());
    const int32_t point = tree_.order()[i];
    push_x_[point] = sum.x;
    push_y_[point] = sum.y;
    weight_[point] = sum.weight - 1;  // without the point itself, which has weight 1 and no force
  }
}

}  // namespace tributary

#include "tributary/model/network_segments.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tributary {
namespace {

// Passes whose activations a step holds at the same time: the confident and the unconfident one of two sources.
constexpr int64_t kPasses = 4;

// Whether a layer's output takes no memory beyond that of its input.
bool is_view(const LayerKind& kind) {
  return std::holds_alternative<Relu>(kind) || std::holds_alternative<Flatten>(kind) ||
         std::holds_alternative<ChannelsLast>(kind) || std::holds_alternative<ChannelsFirst>(kind) ||
         std::holds_alternative<MapTokens>(kind);
}

// Per value, whether a segment may end with it: no later layer reads an earlier value, and none changes it in place.
std::vector<bool> possible_ends(const std::vector<Layer>& layers) {
  std::vector<int> last_use(layers.size() + 1, -1);
  std::vector<bool> is_end(layers.size() + 1, true);
  for (size_t i = 0; i < layers.size(); ++i)
    for (const int input : layers[i].inputs) {
      last_use[input] = static_cast<int>(i);
      if (std::holds_alternative<Relu>(layers[i].kind)) is_end[input] = false;
    }
  int latest = -1;  // last layer that reads one of the values before `value`
  for (size_t value = 1; value <= layers.size(); ++value) {
    latest = std::max(latest, last_use[value - 1]);
    if (latest >= static_cast<int>(value)) is_end[value] = false;
  }
  return is_end;
}

class Division {
 public:
  Division(const Network& network, int64_t size) : is_end_(possible_ends(network.layers())) {
    const std::vector<std::vector<int64_t>> shapes = network.shapes(size);
    for (size_t value = 0; value < shapes.size(); ++value) {
      const int64_t numbers =
          std::accumulate(shapes[value].begin(), shapes[value].end(), int64_t{1}, std::multiplies<>());
      numbers_.push_back(numbers);
      held_.push_back(value > 0 && is_view(network.layers()[value - 1].kind) ? 0 : numbers);
    }
  }

  int64_t total() const { return std::accumulate(held_.begin() + 1, held_.end(), int64_t{0}); }

  // Ranges of at most about `limit` numbers. Each ends at its smallest possible value, the latest of equals.
  std::vector<LayerRange> ranges(int64_t limit) const {
    std::vector<LayerRange> found;
    const int layers = static_cast<int>(held_.size()) - 1;
    int begin = 0;
    while (begin < layers) {
      int end = -1;
      int64_t held = 0;
      for (int value = begin + 1; value <= layers; ++value) {
        held += held_[value];
        if (held > limit && end > 0) break;
        if (value == layers || (is_end_[value] && (end < 0 || numbers_[value] <= numbers_[end]))) end = value;
      }
      found.push_back({begin, end});
      begin = end;
    }
    return found;
  }

  // Numbers that a step holds with these ranges.
  int64_t cost(const std::vector<LayerRange>& ranges) const {
    int64_t inputs = 0, largest = 0;
    for (const LayerRange& range : ranges) {
      inputs += numbers_[range.begin];
      largest = std::max(largest,
                         std::accumulate(held_.begin() + range.begin + 1, held_.begin() + range.end + 1, int64_t{0}));
    }
    return kPasses * inputs + largest;
  }

 private:
  std::vector<bool> is_end_;
  std::vector<int64_t> numbers_;  // per value
  std::vector<int64_t> held_;     // the same, 0 for views
};

}  // namespace

std::vector<LayerRange> segments_of(const Network& network, int64_t size) {
  const Division division(network, size);
  const int64_t total = division.total();
  std::vector<LayerRange> best;
  for (int64_t parts = 1; parts <= static_cast<int64_t>(network.layers().size()); ++parts) {
    std::vector<LayerRange> ranges = division.ranges(total / parts);
    if (best.empty() || division.cost(ranges) < division.cost(best)) best = std::move(ranges);
  }
  return best;
}

}  // namespace tributary

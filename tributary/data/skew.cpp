#include "tributary/data/skew.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tributary/base/error.h"
#include "tributary/base/random.h"

namespace tributary {

std::vector<double> skewed_shares(Skew skew, int64_t classes) {
  constexpr double kLargest = 0.75, kRatio = 50;
  std::vector<double> shares;
  for (int64_t k = 0; k < classes; ++k) {
    const auto others = static_cast<double>(classes - 1);
    if (skew == Skew::kOneClass)
      shares.push_back(k == 0 ? kLargest : (1 - kLargest) / others);
    else
      shares.push_back(std::pow(kRatio, -static_cast<double>(k) / others));
  }
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= total;
  return shares;
}

std::vector<int64_t> skewed_rows(const Labels& labels, Skew skew, uint64_t seed) {
  const auto classes = static_cast<int64_t>(labels.classes.size());
  if (classes < 2) input_error("a skewed subset needs at least two classes, and there is {}", classes);
  std::vector<std::vector<int64_t>> members(labels.classes.size());
  for (size_t i = 0; i < labels.values.size(); ++i)
    members[static_cast<size_t>(labels.values[i])].push_back(static_cast<int64_t>(i));
  Random random(seed, Purpose::kSplit, {static_cast<uint64_t>(skew)});
  const std::vector<int64_t> order = random.permutation(classes);
  const std::vector<double> shares = skewed_shares(skew, classes);
  double total = INFINITY;  // pictures of the subset
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    const auto k = static_cast<size_t>(order[rank]);
    if (members[k].empty())
      input_error("class {} has no pictures; a skewed subset needs all classes", labels.classes[k]);
    total = std::min(total, static_cast<double>(members[k].size()) / shares[rank]);
  }
  std::vector<int64_t> rows;
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    const std::vector<int64_t>& own = members[static_cast<size_t>(order[rank])];
    const auto size = std::max<int64_t>(1, std::llround(total * shares[rank]));
    const std::vector<int64_t> drawn = random.child(rank).permutation(static_cast<int64_t>(own.size()));
    for (int64_t i = 0; i < std::min<int64_t>(size, static_cast<int64_t>(own.size())); ++i)
      rows.push_back(own[static_cast<size_t>(drawn[static_cast<size_t>(i)])]);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace tributary

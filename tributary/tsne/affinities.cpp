#include "tributary/tsne/affinities.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tributary/base/threads.h"

namespace tributary {
namespace {

constexpr int kSteps = 200;          // of the bisection of beta; about 20 are usual
constexpr double kTolerance = 1e-5;  // of the entropy

struct Entry {
  int32_t index;
  float p;
};

// CSR format: row i has the entries begin[i] to begin[i + 1] - 1.
struct Rows {
  std::vector<int64_t> begin;
  std::vector<Entry> entries;
};

// p(j|i), ordered by j.
Rows conditional_rows(const NearRows& near, double perplexity, int threads) {
  const auto count = static_cast<size_t>(near.count);
  Rows rows{std::vector<int64_t>(static_cast<size_t>(near.points) + 1), std::vector<Entry>(near.index.size())};
  for (size_t i = 0; i < rows.begin.size(); ++i) rows.begin[i] = static_cast<int64_t>(i) * near.count;
  parallel_for(near.points, threads, [&](int64_t i) {
    std::vector<float> p(count);
    spread_by_perplexity(std::span(near.squared).subspan(static_cast<size_t>(i) * count, count), perplexity, p);
    Entry* row = rows.entries.data() + rows.begin[i];
    for (size_t e = 0; e < count; ++e) row[e] = {near.index[rows.begin[i] + e], p[e]};
    std::sort(row, row + count, [](const Entry& a, const Entry& b) { return a.index < b.index; });
  });
  return rows;
}

// Row j has p(j|i) of all i with neighbour j, ordered by i.
Rows transposed(const Rows& rows) {
  Rows result{std::vector<int64_t>(rows.begin.size()), std::vector<Entry>(rows.entries.size())};
  for (const Entry& entry : rows.entries) ++result.begin[entry.index + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  std::vector<int64_t> next(result.begin.begin(), result.begin.end() - 1);
  for (size_t i = 0; i + 1 < rows.begin.size(); ++i)
    for (int64_t e = rows.begin[i]; e < rows.begin[i + 1]; ++e)
      result.entries[next[rows.entries[e].index]++] = {static_cast<int32_t>(i), rows.entries[e].p};
  return result;
}

}  // namespace

void spread_by_perplexity(std::span<const float> squared, double perplexity, std::span<float> p) {
  const double wanted = std::log(perplexity), nearest = squared.front();
  double mean = 0;
  for (const float d : squared) mean += (d - nearest) / static_cast<double>(squared.size());
  double beta = mean > 0 ? 1 / mean : 1, low = 0, high = INFINITY, total = 0;
  for (int step = 0; step < kSteps; ++step) {
    total = 0;
    double moment = 0;
    for (size_t j = 0; j < squared.size(); ++j) {
      const double d = squared[j] - nearest, e = std::exp(-beta * d);
      p[j] = static_cast<float>(e);
      total += e;
      moment += e * d;
    }
    const double entropy = std::log(total) + beta * moment / total;
    if (std::fabs(entropy - wanted) < kTolerance) break;
    (entropy > wanted ? low : high) = beta;
    beta = std::isinf(high) ? 2 * beta : (low + high) / 2;
  }
  for (float& value : p) value = static_cast<float>(value / total);
}

Affinities affinities_of(const NearRows& near, double perplexity, int threads) {
  const Rows given = conditional_rows(near, perplexity, threads), reverse = transposed(given);
  const auto scale = 1 / (2 * static_cast<double>(near.points));
  Affinities result;
  result.begin.push_back(0);
  result.index.reserve(2 * given.entries.size());
  result.p.reserve(2 * given.entries.size());
  for (size_t i = 0; i < static_cast<size_t>(near.points); ++i) {
    int64_t a = given.begin[i], b = reverse.begin[i];
    while (a < given.begin[i + 1] || b < reverse.begin[i + 1]) {
      const int32_t left = a < given.begin[i + 1] ? given.entries[a].index : INT32_MAX;
      const int32_t right = b < reverse.begin[i + 1] ? reverse.entries[b].index : INT32_MAX;
      double sum = 0;
      if (left <= right) sum += given.entries[a++].p;
      if (right <= left) sum += reverse.entries[b++].p;
      const auto p = static_cast<float>(sum * scale);
      if (p == 0) continue;
      result.index.push_back(std::min(left, right));
      result.p.push_back(p);
    }
    result.begin.push_back(static_cast<int64_t>(result.index.size()));
  }
  return result;
}

}  // namespace tributary

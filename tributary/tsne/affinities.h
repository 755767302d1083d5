// Computes t-SNE's affinities p_ij from distances to nearest neighbours.
//
// p(j|i) is proportional to exp(-beta_i d_ij^2), where beta_i is chosen such that the entropy of p(.|i) is the
// logarithm of the perplexity. Beyond three times the perplexity, neighbours have negligible weight, so the k nearest
// suffice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tributary {

// Nearest neighbours, [n, k] row-major.
struct NearRows {
  int64_t points = 0, count = 0;  // n, k
  std::vector<int32_t> index;     // nearest first
  std::vector<float> squared;     // squared distances
};

// Symmetric p_ij with sum 1, in CSR format: row i has the entries begin[i] to begin[i + 1] - 1, ordered by j, all
// positive.
struct Affinities {
  std::vector<int64_t> begin;  // n + 1
  std::vector<int32_t> index;  // j
  std::vector<float> p;

  int64_t points() const { return static_cast<int64_t>(begin.size()) - 1; }
};

// Computes p(j|i) of one point from the ascending squared distances to its neighbours. If no beta has that perplexity,
// the result is uniform: over all neighbours if there are too few, over the nearest ones if too many are equally near.
void spread_by_perplexity(std::span<const float> squared, double perplexity, std::span<float> p);

// p_ij = (p(j|i) + p(i|j)) / 2n.
Affinities affinities_of(const NearRows& near, double perplexity, int threads);

}  // namespace tributary

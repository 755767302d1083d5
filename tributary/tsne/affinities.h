// How much two points should be neighbours in an embedding: t-SNE's p_ij, from distances to nearest neighbours.
//
// Around each point stands a bell curve just wide enough for `perplexity` neighbours, softly counted: p(j|i) falls with
// exp(-beta_i d_ij^2), and beta_i makes the entropy of p(.|i) the logarithm of the perplexity. Beyond three times as
// many neighbours nothing is left of it, so the k nearest stand for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tributary {

// Who is near whom, [n, k] row by row.
struct NearRows {
  int64_t points = 0, count = 0;  // n, k
  std::vector<int32_t> index;     // nearest first
  std::vector<float> squared;     // distances
};

// p_ij, symmetric, of sum one: of row i, the entries begin[i] to begin[i + 1] - 1, in the order of j; all positive.
struct Affinities {
  std::vector<int64_t> begin;  // n + 1
  std::vector<int32_t> index;  // j
  std::vector<float> p;

  int64_t points() const { return static_cast<int64_t>(begin.size()) - 1; }
};

// The p(j|i) of one point from squared distances to its neighbours, ascending, into `p`. Where no bell curve has that
// perplexity (fewer neighbours, or more equally near ones) it is the uniform one over all, or over the nearest.
void spread_by_perplexity(std::span<const float> squared, double perplexity, std::span<float> p);

// p_ij = (p(j|i) + p(i|j)) / 2n.
Affinities affinities_of(const NearRows& near, double perplexity, int threads);

}  // namespace tributary

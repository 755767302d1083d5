// Neighbourhood reciprocity (Yang et al., NeurIPS 2021; docs/baselines.md, NRC): neighbours in feature space should
// have similar predictions.
//
// A shifted domain still forms clusters in feature space, so the neighbours of a picture mostly share its class.
// Reciprocal neighbours have weight 1, others 0.1, and neighbours of neighbours also 0.1. Two banks hold the features
// and predictions of the whole target set, and each step updates the rows of its batch.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// The last known outputs for every target picture, without gradients.
struct NeighbourBanks {
  Tensor features;  // float [n, d], rows of length one
  Tensor scores;    // float [n, K], probabilities

  NeighbourBanks(int64_t pictures, int64_t width, int64_t classes, torch::Device device);
  // Stores features [b, d], which it normalises, and probabilities [b, K] of the pictures `rows`, int64 [b], in place.
  void write(const Tensor& rows, const Tensor& features, const Tensor& probabilities);
};

// The rows of `bank` [n, d] with the largest inner product with each of its rows `rows`, int64 [r], nearest first:
// int64 [r, count]. A row is never its own neighbour, even if it has a duplicate. `count` must be less than n.
Tensor nearest_rows(const Tensor& bank, const Tensor& rows, int64_t count);

struct NeighbourCounts {
  int64_t near = 5;      // K_n, neighbours of a picture
  int64_t expanded = 5;  // M_n, neighbours of each of these
};

// The number of neighbours over time: `later` applies after half of all steps.
struct NeighbourSchedule {
  NeighbourCounts first, later;
  int64_t steps = 0;  // total

  // The larger numbers, limited by the number of pictures in the set.
  NeighbourCounts most(int64_t pictures) const;
};

// `later` if more than half of `steps` are done, else `first`: int64 [] on the device of `done`, float [].
Tensor count_now(const Tensor& done, int64_t steps, int64_t first, int64_t later);

// How a picture's own prediction contributes. The released code has no term for it, but lets a picture be a neighbour
// of its neighbours. The paper excludes it there and adds a separate loss.
enum class SelfTerm { kAsNeighbour, kOwnLoss };

// The weight of non-reciprocal neighbours, and of all neighbours of neighbours.
constexpr double kWeakAffinity = 0.1;

// The neighbours of a batch, always in the largest numbers of the schedule, so that the shapes are the same in every
// step. Unused neighbours have weight zero.
struct Neighbourhood {
  Tensor near;             // int64 [b, N]
  Tensor expanded;         // neighbours of each near one; may contain duplicates
  Tensor near_weight;      // 1 for reciprocal neighbours
  Tensor expanded_weight;  // float [b, N, M]
};

// For the pictures `rows`, int64 [b], whose features are already in the bank [n, d]. `done`, float [], is the number of
// completed steps.
Neighbourhood find_neighbourhood(const Tensor& bank, const Tensor& rows, const NeighbourSchedule& schedule,
                                 const Tensor& done, SelfTerm self = SelfTerm::kAsNeighbour);

// D(s, p) = sum_c s_c ln s_c - s . p over the last dimension; up to a constant the negative inner product. Like the
// released code, it passes probabilities where the Kullback-Leibler divergence expects their logarithms; this is
// intended.
Tensor neighbour_divergence(const Tensor& score, const Tensor& probabilities);

struct ReciprocityLosses {
  Tensor near, expanded, diversity, self;  // float [], all of weight one; `self` is zero with SelfTerm::kAsNeighbour

  Tensor total() const { return near + expanded + diversity + self; }
};

// For probabilities [b, K] of the batch with that neighbourhood and scores [n, K] of the bank.
ReciprocityLosses reciprocity_losses(const Tensor& scores, const Neighbourhood& neighbourhood,
                                     const Tensor& probabilities, SelfTerm self = SelfTerm::kAsNeighbour);

}  // namespace tributary

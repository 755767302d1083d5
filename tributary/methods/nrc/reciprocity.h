// Neighbourhood reciprocity (Yang et al., NeurIPS 2021; docs/method.md, NRC): pictures whose features are neighbours
// should be predicted alike.
//
// A shifted domain still forms groups in the space of features, so a picture's neighbours mostly share its class. Two
// that count each other among their nearest are trusted fully, others a tenth; neighbours of neighbours are pulled in
// as well, with the small weight. Features and predictions of the whole target set lie in two banks, and each step
// refreshes the rows of its batch.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// What was last seen of every target picture, never differentiated.
struct NeighbourBanks {
  Tensor features;  // float [n, d], rows of length one
  Tensor scores;    // float [n, K], probabilities

  NeighbourBanks(int64_t pictures, int64_t width, int64_t classes, torch::Device device);
  // Takes over features [b, d] of any length and probabilities [b, K] of the pictures `rows`, int64 [b], in place.
  void write(const Tensor& rows, const Tensor& features, const Tensor& probabilities);
};

// The rows of `bank` [n, d] nearest to each of its own rows `rows`, int64 [r], by their product, nearest first: int64
// [r, count]. A row is never its own neighbour, not even if it has a twin; `count` is less than n.
Tensor nearest_rows(const Tensor& bank, const Tensor& rows, int64_t count);

struct NeighbourCounts {
  int64_t near = 5;      // K_n, neighbours of a picture
  int64_t expanded = 5;  // M_n, neighbours of each of these
};

// How many neighbours count: the later numbers once more than half of all steps are done.
struct NeighbourSchedule {
  NeighbourCounts first, later;
  int64_t steps = 0;  // in all

  // The larger numbers, as far as a set of so many pictures has neighbours to give.
  NeighbourCounts most(int64_t pictures) const;
};

// `later` where more than half of `steps` are done, else `first`: int64 [] on the device of `done`, float [].
Tensor count_now(const Tensor& done, int64_t steps, int64_t first, int64_t later);

// Where a picture's own prediction comes in. The released code has no term for it, but lets the picture be a neighbour
// of its neighbours; the paper takes it out there and adds a loss of its own.
enum class SelfTerm { kAsNeighbour, kOwnLoss };

// The weight of what is not reciprocal, and of all neighbours' neighbours.
constexpr double kWeakAffinity = 0.1;

// The neighbours of a batch, always in the largest numbers of the schedule, so that a step has the same shapes from
// beginning to end; those that do not count now have weight zero.
struct Neighbourhood {
  Tensor near;             // int64 [b, N]
  Tensor expanded;         // int64 [b, N, M], neighbours of each near one; may hold a picture twice
  Tensor near_weight;      // float [b, N]: 1 where the picture is in turn among the neighbours of the near one
  Tensor expanded_weight;  // float [b, N, M]
};

// Of the pictures `rows`, int64 [b], whose features are already in the bank [n, d]; `done`, float [], counts the steps
// before this one.
Neighbourhood find_neighbourhood(const Tensor& bank, const Tensor& rows, const NeighbourSchedule& schedule,
                                 const Tensor& done, SelfTerm self = SelfTerm::kAsNeighbour);

// D(s, p) = sum_c s_c ln s_c - s . p over the last dimension, which differs from a constant by the product alone. This
// is the released code's divergence of s from probabilities in the place of their logarithms, and it is meant so.
Tensor neighbour_divergence(const Tensor& score, const Tensor& probabilities);

struct ReciprocityLosses {
  Tensor near, expanded, diversity, self;  // float [], all of weight one; `self` is zero where it is no loss

  Tensor total() const { return near + expanded + diversity + self; }
};

// For probabilities [b, K] of the batch with that neighbourhood and scores [n, K] of the bank.
ReciprocityLosses reciprocity_losses(const Tensor& scores, const Neighbourhood& neighbourhood,
                                     const Tensor& probabilities, SelfTerm self = SelfTerm::kAsNeighbour);

}  // namespace tributary

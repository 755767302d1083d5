// The three terms of the paper's bound (Theorem 4.1, Eq. 2), measured round by round.
//
//   L_P(h, target) - L_E(h, confident set)
//     <= M / sqrt(2) * sqrt( D(P^Dl_Y|Phi || P^t_Y|Phi | P^Dl_Phi)      label mismatch
//                            + D(P^Dl_Phi || P^t_Phi) )                 feature misalignment
//        + C sqrt( (d_N(H) ln K + ln 1/delta) / N )                     variance
//
// with probability 1 - delta, for a loss within [0, M], N pseudo-labelled samples, K classes and a hypothesis space of
// Natarajan dimension d_N. The theorem's quantities are not to be had from data as they stand; this is what stands for
// each of them, and how far it can be trusted:
//
// - Mismatch. With a pseudo-label y for each sample the divergence is E[-ln P^t(y | Phi)], at least -ln(1 - e) where
//   e is the share of wrong pseudo-labels in the confident set (Jensen), and equal to it where all of them are equally
//   likely to be right. With labels, `mismatch_exact` is that: a lower bound of the term from the true e. Without, e is
//   replaced by disagreement, among the sources and between the two criteria of Eq. 9. That is a proxy: models that
//   share a mistake agree.
// - Misalignment. An estimate of the divergence (divergence.h) of what is given as features, usually a projection. A
//   projection only takes away from a divergence, and an estimate mostly errs low. The cap, ln(n / N), is certain: the
//   confident set is a part of the target set. Where the selection is a function of these very features the true value
//   is the cap; the estimate says how much of it a discriminator finds, which is what alignment (Eq. 13) works against.
// - Variance. The right rate in N, with a stand-in for the capacity. The theorem says that a C exists, not which; d_N
//   of networks that are fine-tuned is not known. K times the joint feature width is what linear classifiers on fixed
//   features have at most (Shalev-Shwartz and Ben-David, 2014, Theorem 29.7), a lot less than a fine-tuned network.
//
// So `sum` is no guarantee. With these capacities it mostly exceeds M, which the loss never does: a vacuous bound,
// whose terms are there to be compared with themselves, from round to round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// What the theorem leaves open. `classes` and `width` have no default.
struct BoundSetting {
  int64_t classes = 0;             // K
  int64_t width = 0;               // of the joint features before any projection, sum_j d_j
  double loss_bound = 1;           // M, of the 0-1 loss
  double delta = 0.05;             // the bound may fail with this probability
  double constant = 1;             // C
  std::optional<double> capacity;  // d_N; K times `width` where none is given
  uint64_t seed = 1;               // of the divergence estimates

  double natarajan_dimension() const;
  // The choices above and what they mean, a sentence each, for whoever shows the terms.
  std::vector<std::string> notes() const;
};

// One round, all of the target set or a sample of s from it.
struct BoundInputs {
  Tensor joint;                 // [s, d] joint features; undefined: those of the sources side by side
  std::vector<Tensor> sources;  // [s, d_j] a source; may be empty
  Tensor mixture;               // the mixture's opinion (first criterion of Eq. 9): int64 [s] labels or float [s, K]
  Tensor label;                 // int64 [s], denoised pseudo-labels (Eq. 9)
  Tensor source_label;          // int64 [m, s], each source's own
  Tensor confident;             // bool [s], the split of Eq. 10
  Tensor truth;                 // int64 [s], or undefined: nobody knows
  int64_t confident_total = 0;  // N of the whole target set where this is a sample of it; 0: as many as `confident` has
};

struct BoundTerms {
  double mismatch = 0;                         // nats, from disagreement
  std::optional<double> mismatch_exact;        // nats, from the truth
  std::optional<double> misalignment;          // nats, in the joint space; none for too few samples
  std::optional<double> misalignment_sources;  // nats, mean over the sources' own spaces: at most the above (Eq. 5)
  double bias = 0;                             // in units of the loss: the root of Eq. 2, from `mismatch`
  double variance = 0;                         // in units of the loss
  double sum = 0;                              // bias + variance, the right side of Eq. 2
  std::optional<double> sum_exact;             // the same from `mismatch_exact`

  double misalignment_cap = 0;        // ln(n / N) by the samples given
  double misalignment_error = 0;      // standard error of the estimate in the joint space
  double source_disagreement = 0;     // share of the sources' labels that differ from the pseudo-label
  double criteria_disagreement = 0;   // share where the mixture alone says another class than both criteria together
  std::optional<double> label_error;  // share of wrong pseudo-labels
  int64_t confident = 0;              // N
};

// Measures a round. All shares are over the confident samples; there must be one. Where the misalignment has no
// estimate, the sums take the cap for it. The order of the samples does not matter.
BoundTerms bound_terms(const BoundInputs& inputs, const BoundSetting& setting);

// -ln(1 - share), the least divergence that comes with so many wrong labels among `count`. All of them wrong count as
// all but one of count + 1, so that the number stays finite.
double mismatch_of(double share, int64_t count);

// C sqrt((d_N ln K + ln 1/delta) / N), the last term of Eq. 2.
double variance_term(const BoundSetting& setting, int64_t confident);

}  // namespace tributary

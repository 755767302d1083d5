// The three terms of the paper's bound (Theorem 4.1, Eq. 2), estimated in every round.
//
//   L_P(h, target) - L_E(h, confident set)
//     <= M / sqrt(2) * sqrt( D(P^Dl_Y|Phi || P^t_Y|Phi | P^Dl_Phi)      label mismatch
//                            + D(P^Dl_Phi || P^t_Phi) )                 feature misalignment
//        + C sqrt( (d_N(H) ln K + ln 1/delta) / N )                     variance
//
// with probability 1 - delta, for a loss within [0, M], N pseudo-labelled samples, K classes and a hypothesis space of
// Natarajan dimension d_N. The theorem's quantities cannot be computed from data. These estimates replace them
// (docs/bound.md):
//
// - Mismatch. With one pseudo-label y per sample the divergence is E[-ln P^t(y | Phi)]. It is at least -ln(1 - e),
// where
//   e is the fraction of wrong pseudo-labels in the confident set (Jensen), with equality if all are equally likely to
//   be right. With labels, `mismatch_exact` is this lower bound. Without labels, e is replaced by the disagreement
//   among the sources and between the two criteria of Eq. 9. This is a proxy: models that share a mistake agree.
// - Misalignment. An estimate of the divergence (divergence.h) between the given features, usually a projection. A
//   projection can only lower a divergence, and the estimate tends to err low. The cap ln(n / N) always holds, because
//   the confident set is a subset of the target set. If the selection is a function of these features, the true value
//   is the cap, and the estimate says how much of it a discriminator finds: this is what alignment (Eq. 13) reduces.
// - Variance. The right rate in N with an assumed capacity. The theorem does not give C, and d_N of fine-tuned networks
//   is unknown. K times the joint feature width is an upper bound for linear classifiers on fixed features
//   (Shalev-Shwartz and Ben-David, 2014, Theorem 29.7), much less than a fine-tuned network has.
//
// Therefore `sum` guarantees nothing. It usually exceeds M, which makes the bound vacuous. Compare each term with
// itself from round to round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// The constants of Eq. 2 and their assumed values. `classes` and `width` must be set.
struct BoundSetting {
  int64_t classes = 0;             // K
  int64_t width = 0;               // width of the joint features before any projection, sum_j d_j
  double loss_bound = 1;           // M; 1 for the 0-1 loss
  double delta = 0.05;             // probability that the bound fails
  double constant = 1;             // C
  std::optional<double> capacity;  // d_N; K times `width` if not set
  uint64_t seed = 1;               // of the divergence estimates

  double natarajan_dimension() const;
  // Explanations of the terms and assumptions, for the report.
  std::vector<std::string> notes() const;
};

// The state after one round, on s samples: the target set or a random subset of it.
struct BoundInputs {
  Tensor joint;                 // [s, d] joint features; undefined: the concatenated features of the sources
  std::vector<Tensor> sources;  // [s, d_j] per source; may be empty
  Tensor mixture;               // predictions of the mixture (first criterion of Eq. 9): int64 [s] or float [s, K]
  Tensor label;                 // int64 [s], denoised pseudo-labels (Eq. 9)
  Tensor source_label;          // int64 [m, s], predictions per source
  Tensor confident;             // bool [s], the split of Eq. 10
  Tensor truth;                 // int64 [s] labels, or undefined
  int64_t confident_total = 0;  // N of the whole target set; 0: the number of samples in `confident`
};

struct BoundTerms {
  double mismatch = 0;                         // nats, from disagreement
  std::optional<double> mismatch_exact;        // nats, from the labels
  std::optional<double> misalignment;          // nats, in the joint space; empty if there are too few samples
  std::optional<double> misalignment_sources;  // nats, mean over the sources' own spaces; at most the above (Eq. 5)
  double bias = 0;                             // in units of the loss: the root of Eq. 2, with `mismatch`
  double variance = 0;                         // in units of the loss
  double sum = 0;                              // bias + variance, the right-hand side of Eq. 2
  std::optional<double> sum_exact;             // the same with `mismatch_exact`

  double misalignment_cap = 0;        // ln(n / N) of the given samples
  double misalignment_error = 0;      // standard error of `misalignment`
  double source_disagreement = 0;     // fraction of source predictions that differ from the pseudo-label
  double criteria_disagreement = 0;   // fraction of samples whose mixture prediction differs from the pseudo-label
  std::optional<double> label_error;  // fraction of wrong pseudo-labels
  int64_t confident = 0;              // N
};

// Estimates the terms of one round. Fractions are over the confident samples, of which there must be at least one. If
// there is no estimate of the misalignment, the sums use its cap. The result does not depend on the sample order.
BoundTerms bound_terms(const BoundInputs& inputs, const BoundSetting& setting);

// -ln(1 - fraction), the smallest divergence with that fraction of wrong labels among `count`. The fraction is limited
// to count / (count + 1), so that the result stays finite.
double mismatch_of(double fraction, int64_t count);

// C sqrt((d_N ln K + ln 1/delta) / N), the last term of Eq. 2.
double variance_term(const BoundSetting& setting, int64_t confident);

}  // namespace tributary

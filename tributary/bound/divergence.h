// Estimates the Kullback-Leibler divergence D(P || Q) between two sets of features, in nats, from samples.
//
// The misalignment term of the bound (Eq. 2) is such a divergence. It is estimated by how well the sets can be told
// apart: scores (discriminator.h) are fitted on some folds of the samples, combined by a logistic regression on others,
// and evaluated on held-out folds, so that overfitting does not count. The resulting log density ratio g gives
// E_P[g] - ln E_Q[e^g], which is at most D(P || Q) for any g (Donsker and Varadhan, Eq. 17).
//
// An estimate from finitely many samples falls short of that. The whole procedure therefore runs twice, with half and
// with four fifths of the samples for fitting, and is extrapolated to infinitely many, because 1 / D is linear in
// 1 / samples if the shortfall is noise in g. `held_out` is the estimate before extrapolation.
//
// Limits (measured in docs/bound.md): with 4,000 samples per set, Gaussian pairs in 2 to 64 dimensions are within 10 %
// from half a nat on, and within 20 % at a tenth of a nat. The exception is a small divergence spread over the whole
// covariance in 64 dimensions: half a nat has an error of 13 %, a tenth is missed. Differences that the scores cannot
// represent are not seen, and the estimate errs low. If no sample of Q lies where P's do, the divergence cannot be
// distinguished from a larger one, hence the cap of ln b for b samples of Q.
#pragma once

#include <cstdint>
#include <optional>

#include "tributary/base/tensor.h"

namespace tributary {

struct Divergence {
  double value = 0;     // nats, clamped to [0, cap]
  double held_out = 0;  // the same before extrapolation, clamped to [0, cap]; errs low
  double error = 0;     // standard error of `held_out` from sampling; does not include the bias of the scores
  double cap = 0;       // upper limit of `value`
};

// Minimum number of samples per set.
constexpr int64_t kFewestForDivergence = 50;

// Estimates D(P || Q) from independent samples of P [a, d] and Q [b, d]. Returns nullopt if either has too few samples
// or non-finite values. The result depends on samples and seed but not on their order, bit for bit on one machine. Runs
// on one thread.
std::optional<Divergence> divergence_between(const Tensor& p, const Tensor& q, uint64_t seed = 1);

// Estimates D(P || Q) for a subset: Q is all of `features` [n, d], P the N rows that `member`, bool [n], marks (target
// set and confident samples). With pi(x) the probability that a sample at x is a member, dP/dQ = pi(x) n / N, so
// D(P || Q) = ln(n / N) + E_P[ln pi]. It is at most ln(n / N), the cap, and equals it if membership is a function of
// the features. Returns exactly zero if all rows are members, and nullopt for too few members, too few others or
// non-finite features. `group`, int64 [n] or undefined, is the class of every sample (-1: none), which helps if
// features form clusters; it is used for fitting only, not for evaluation.
std::optional<Divergence> divergence_of_subset(const Tensor& features, const Tensor& member, const Tensor& group = {},
                                               uint64_t seed = 1);

// The closed form for N(mean_p [d], covariance_p [d, d]) and N(mean_q, covariance_q).
double gaussian_divergence(const Tensor& mean_p, const Tensor& covariance_p, const Tensor& mean_q,
                           const Tensor& covariance_q);

}  // namespace tributary

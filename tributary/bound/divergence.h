// The Kullback-Leibler divergence D(P || Q) between two sets of features, in nats, from samples alone.
//
// The misalignment term of the bound (Eq. 2) is such a divergence. It is estimated by how well the sets can be told
// apart: judges (discriminator.h) are learned on some folds of the samples, combined by a logistic regression on
// others, and asked about folds that neither has seen, so that what they have only memorised counts nothing. The
// logarithm g of the density ratio that results gives E_P[g] - ln E_Q[e^g], which no g can raise above D(P || Q)
// (Donsker and Varadhan, Eq. 17).
//
// What is learned from samples falls short of that. So all is done twice, with half and with four fifths of the
// samples to learn from, and extrapolated to unlimited ones, 1 / D being linear in 1 / samples where the shortfall is
// noise in g. `held_out` is the estimate before that.
//
// Limits, measured in docs/bound.md. With 4,000 samples a set, Gaussian pairs in 2 to 64 dimensions come out within
// 10 % from half a nat on, and within 20 % at a tenth of a nat. The exception is a small divergence that is spread over
// all of a covariance in 64 dimensions: half a nat of that errs by 13 %, a tenth is missed. What the judges cannot
// represent is not seen: the estimate then errs low. A divergence cannot be told from a larger one when no sample of Q
// lies where P's do, hence the cap of ln b for b samples of Q.
#pragma once

#include <cstdint>
#include <optional>

#include "tributary/base/tensor.h"

namespace tributary {

struct Divergence {
  double value = 0;     // nats, in [0, cap]; an estimate below zero is given as zero
  double held_out = 0;  // the same before extrapolation, in [0, cap] too: errs low
  double error = 0;     // standard error of `held_out` by the number of samples; the judges' shortcomings are not in it
  double cap = 0;       // the most that `value` can be
};

// Below this number in either set nothing is estimated.
constexpr int64_t kFewestForDivergence = 50;

// D(P || Q) from independent samples of P [a, d] and Q [b, d]; nothing where either has too few, or holds infinities or
// NaN. The same samples in any order and the same seed give the same numbers, to the last bit on one machine. Runs on
// one thread.
std::optional<Divergence> divergence_between(const Tensor& p, const Tensor& q, uint64_t seed = 1);

// D(P || Q) where Q are all of `features` [n, d] and P those N of them that `member`, bool [n], marks: the confident
// samples and the target set. Then dP/dQ = pi(x) n / N with pi(x) the probability that a sample at x is a member, so
// D(P || Q) = ln(n / N) + E_P[ln pi] and never exceeds ln(n / N), the cap. It is the cap where membership is a function
// of the features. All members: exactly zero. Too few members, too few others, or no numbers: nothing.
// `group`, int64 [n] or undefined, may name every sample's class (-1: none), which helps the judges where features
// form clusters. It is used to learn from, never to judge by.
std::optional<Divergence> divergence_of_subset(const Tensor& features, const Tensor& member, const Tensor& group = {},
                                               uint64_t seed = 1);

// The closed form for N(mean_p [d], covariance_p [d, d]) and N(mean_q, covariance_q).
double gaussian_divergence(const Tensor& mean_p, const Tensor& covariance_p, const Tensor& mean_q,
                           const Tensor& covariance_q);

}  // namespace tributary

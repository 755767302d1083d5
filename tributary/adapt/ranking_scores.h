// Published scores that rank models without labels. Runs log them; no decision uses them (docs/method.md, Which round
// is kept).
//
// All take predictions of the whole target set in evaluation and compute in float64. None sees a consistent relabelling
// of the classes. No score is an accuracy. Ranks may keep their own rows, where there is a RowBlock.
#pragma once

#include <vector>

#include "tributary/comm/row_block.h"

namespace tributary {

// EnsV (Hu et al. 2024): the agreement of a candidate's labels with those of the mean of all candidates, both [n, K].
double agreement_with_mean(const Tensor& probabilities, const Tensor& mean, const RowBlock& rows = {});

// IM: H(mean_i P_i) - mean_i H(P_i), in [0, ln K]. Methods that maximise it raise it by construction.
double mutual_information(const Tensor& probabilities, const RowBlock& rows = {});

struct NeighbourhoodOptions {
  double temperature = 0.05;
  double epsilon = 0;    // inside the logarithm; published code has 1e-5
  int64_t block = 1024;  // rows of similarities in memory at once
};
// SND (Saito et al. 2021): the mean entropy of softmax_j(f_i f_j / temperature) with f = P / |P|, where s_ii is
// replaced by -1 / temperature. Larger is meant to be better, and a total collapse has the largest value.
double neighbourhood_density(const Tensor& probabilities, const NeighbourhoodOptions& options = {});
// The pictures that runs compute it on: at most `most` of n, ascending, the same for every round.
Tensor neighbourhood_sample(int64_t pictures, int64_t most = 2000);

// Corr-C (Tu et al. 2023): tr(C) / (sqrt(K) |C|_F) with C = P^T P / n, in [1 / sqrt(K), 1]; larger is better.
double class_correlation(const Tensor& probabilities, const RowBlock& rows = {});

// MaNo (Xie et al. 2024): (mean_ik Q_ik^4)^(1/4), in [1/K, K^(-1/4)]. Q holds rows of softmax(z), or of
// v(z) = 1 + z + z^2/2 divided by their sums where `mano_uncertainty` is at most 5. The choice must be made once per
// run, else rounds cannot be compared.
enum class ManoNorm { kSoftmax, kTaylor };
double mano_score(const Tensor& logits, ManoNorm norm, const RowBlock& rows = {});
// Phi = mean_ik -ln softmax(z_i)_k.
double mano_uncertainty(const Tensor& logits, const RowBlock& rows = {});
ManoNorm mano_norm(double uncertainty);

}  // namespace tributary

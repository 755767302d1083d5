// Selects the target samples to train on, and their pseudo-labels.
//
// Few samples keep pseudo-labels clean (label mismatch), many keep the variance low. The N most confident samples are
// labelled; N grows every round until it covers the target set. Ranks may keep the scores of their own rows; the
// selection itself is whole on every rank.
#pragma once

#include "tributary/base/tensor.h"
#include "tributary/comm/row_block.h"

namespace tributary {

enum class Growth { kPaper, kCode };  // N1: from the first round larger than N_0 up to n, or N_0 up to just below n
enum class Threshold { kAtLeast, kAbove };  // N2

// The split of the target set in one round.
struct Selection {
  static constexpr int64_t kUnlabelled = -1;
  Tensor label;           // int64 [n], kUnlabelled for samples that are not selected
  Tensor confident;       // int64 [N], indices into the target set, most confident first
  Tensor unconfident;     // int64 [n - N], ascending
  Tensor source_label{};  // int64 [m, n], the labels of each source; undefined: `label` for all
};

// s_k(x) = h_k(x) sum_j w~_j q_j,k(x) (Eq. 9): mixture [n, K], normalised weights [m] and posteriors [m, n, K].
Tensor denoised_score(const Tensor& mixture, const Tensor& weights, const Tensor& posteriors);

// N_0: how many confidences reach lambda_alpha times their mean.
int64_t initial_count(const Tensor& confidence, double lambda_alpha, Threshold threshold, const RowBlock& rows = {});

// The size of the confident set in `round` of 1..rounds, growing evenly from `initial` to `total` (Algorithm 1).
int64_t confident_count(int64_t initial, int64_t total, int64_t round, int64_t rounds, Growth growth = Growth::kPaper);

// Labels the `count` samples with the highest max_k score[i, k] by argmax_k score[i, k] (Eq. 10). Ties are broken by
// index, so the result does not depend on the device or the number of threads.
Selection select_confident(const Tensor& score, int64_t count, const RowBlock& rows = {});

// Labels the same share count / n of every pseudo-class, the most confident first, and at least one sample of every
// class that occurs. `confident` is ordered as above.
Selection select_confident_per_class(const Tensor& score, int64_t count, const RowBlock& rows = {});

// The selective oracle (Definition 1): selects exactly the samples whose pseudo-label is right. It needs the true
// labels, int64 [n], and shows what a perfect selection would reach.
Selection select_with_oracle(const Tensor& score, const Tensor& truth, const RowBlock& rows = {});

}  // namespace tributary

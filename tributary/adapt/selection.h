// Selective pseudo-labelling: which target samples are trusted, and with which label.
//
// The variance term of the bound wants many labelled samples, the label-mismatch term wants only right ones. The
// confidence query trades the two: the N most confident samples are labelled, and N grows round by round until the
// whole target set is in.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

enum class Growth { kPaper, kCode };  // N1: from the first round larger than N_0 up to n, or N_0 up to just below n
enum class Threshold { kAtLeast, kAbove };  // N2

// The split of the target set in one round.
struct Selection {
  static constexpr int64_t kUnlabelled = -1;
  Tensor label;        // int64 [n], kUnlabelled where a sample is not trusted
  Tensor confident;    // int64 [N], indices into the target set, most confident first
  Tensor unconfident;  // int64 [n - N], ascending
};

// s_k(x) = h_k(x) sum_j w~_j q_j,k(x) (Eq. 9): mixture [n, K], normalised weights [m] and posteriors [m, n, K].
Tensor denoised_score(const Tensor& mixture, const Tensor& weights, const Tensor& posteriors);

// N_0: how many confidences reach lambda_alpha times their mean.
int64_t initial_count(const Tensor& confidence, double lambda_alpha, Threshold threshold);

// The size of the confident set in `round` of 1..rounds, growing evenly from `initial` to `total` (Algorithm 1).
int64_t confident_count(int64_t initial, int64_t total, int64_t round, int64_t rounds, Growth growth = Growth::kPaper);

// Labels the `count` samples of highest max_k score[i, k] with argmax_k score[i, k] (Eq. 10). Equal scores go by index,
// so that a selection depends neither on the device nor on the number of threads.
Selection select_confident(const Tensor& score, int64_t count);

// The selective oracle (Definition 1): trusts exactly the samples whose pseudo-label is right. It needs the truth, and
// is here to show what a perfect selection would give.
Selection select_with_oracle(const Tensor& score, const Tensor& truth);

}  // namespace tributary

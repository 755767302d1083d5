// Labels for a source from the other sources (co-teaching).
//
// A source that trains on labels in which it has a say repeats its own errors. Its vote is therefore left out where the
// others are surer of a sample without it than the mixture is with it.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// What the sources say about the target set.
struct SourceOpinions {
  Tensor logits;      // [m, n, K]
  Tensor posteriors;  // [m, n, K], of the prototypes; undefined: 1
  Tensor weights;     // [m], the factors of the logits, at least 0
};

// The label of every sample for each source j, int64 [m, n]: argmax_k s_k of the other sources where max_k s_k exceeds
// that of all sources, else `label` (int64 [n]). s is the score of Eq. 9 in logits: softmax_k(sum_l w_l z_lk) times the
// posteriors' mean with weights w_l / sum w. A source with all of the weight keeps `label`.
Tensor cross_labels(const Tensor& label, const SourceOpinions& opinions);

}  // namespace tributary

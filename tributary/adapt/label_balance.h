// Moves the class shares of the pseudo-labels towards a prior.
//
// Shifted sources prefer some classes: on the target set these take samples of their neighbours, and self-training
// makes the preference permanent. An offset per class, the same for all samples, takes it out of the logits. Only
// samples between two classes change their labels.
#pragma once

#include "tributary/comm/row_block.h"

namespace tributary {

// The offsets b [K] of the logits with which the mean of softmax(ln p_i + b) is the prior, for probabilities p [n, K].
// Undefined `prior`: uniform. Found by ten passes of b += ln(prior / mean); a class that no sample has any probability
// of keeps an offset of at most ln(10^6). Ranks may keep their own rows; the mean is that of all.
Tensor balancing_offsets(const Tensor& probability, const Tensor& prior = {}, const RowBlock& rows = {});

// The rows of p [n, K] with these offsets: p_ik exp(scale b_k), scaled to sum 1.
Tensor with_offsets(const Tensor& probability, const Tensor& offsets, const Tensor& scale);

}  // namespace tributary

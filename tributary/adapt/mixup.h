// Mixup over the confident set (Eq. 11): convex mixtures of two samples with the same mixture of their labels.
//
// Cross-entropy is linear in its target, so the loss against the mixed label is the mixture of two losses against hard
// labels. It smooths the model between the trusted samples, which keeps the variance term small while they are few.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// One ratio and one permutation for the whole batch, shared by all sources.
struct Mixing {
  Tensor ratio;        // lambda, float [], uniform on (0, 1)
  Tensor permutation;  // int64 [batch]
};

// lambda x + (1 - lambda) x[permutation].
Tensor mix(const Tensor& x, const Mixing& mixing);

// lambda CE(z, y) + (1 - lambda) CE(z, y[permutation]), means over the batch.
Tensor mixed_cross_entropy(const Tensor& logits, const Tensor& label, const Mixing& mixing);

// mean_i weight_i CE(z_i, y_i), and the same of both labels of mixtures, each with the weight of its sample.
Tensor weighted_cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& weight);
Tensor mixed_cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& weight, const Mixing& mixing);

}  // namespace tributary

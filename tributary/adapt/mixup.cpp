#include "tributary/adapt/mixup.h"

namespace tributary {

Tensor mix(const Tensor& x, const Mixing& mixing) {
  return at::lerp(x.index_select(0, mixing.permutation), x, mixing.ratio.to(x.scalar_type()))
      .contiguous(x.suggest_memory_format());
}

Tensor mixed_cross_entropy(const Tensor& logits, const Tensor& label, const Mixing& mixing) {
  const Tensor log_probability = logits.log_softmax(-1);
  return mixing.ratio * at::nll_loss(log_probability, label) +
         (1 - mixing.ratio) * at::nll_loss(log_probability, label.index_select(0, mixing.permutation));
}

Tensor weighted_cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& weight) {
  return (weight * at::cross_entropy_loss(logits, label, {}, at::Reduction::None)).mean();
}

Tensor mixed_cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& weight, const Mixing& mixing) {
  const auto& [ratio, permutation] = mixing;
  return ratio * weighted_cross_entropy(logits, label, weight) +
         (1 - ratio) *
             weighted_cross_entropy(logits, label.index_select(0, permutation), weight.index_select(0, permutation));
}

}  // namespace tributary

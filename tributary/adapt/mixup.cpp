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

}  // namespace tributary

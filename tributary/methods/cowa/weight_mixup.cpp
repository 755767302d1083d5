#include "tributary/methods/cowa/weight_mixup.h"

namespace tributary {

Tensor mix_rows(const Tensor& values, const Tensor& partner, const Tensor& ratio) {
  std::vector<int64_t> shape(static_cast<size_t>(values.dim()), 1);
  shape[0] = values.size(0);
  const Tensor own = ratio.to(values.scalar_type()).view(shape);
  return (own * values + (1 - own) * values.index_select(0, partner)).contiguous(values.suggest_memory_format());
}

Tensor weighted_soft_cross_entropy(const Tensor& probabilities, const Tensor& target, const Tensor& weight) {
  return -(weight * (target * (probabilities + kLogEpsilon).log()).sum(1)).mean();
}

Tensor warm_up_factor(const Tensor& done, int64_t steps) {
  constexpr double kNegligible = 1e-6;
  return at::where(done < static_cast<double>(steps), at::full_like(done, kNegligible), at::ones_like(done));
}

}  // namespace tributary

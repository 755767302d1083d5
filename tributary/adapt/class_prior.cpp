#include "tributary/adapt/class_prior.h"

namespace tributary {

Tensor estimated_prior(const Tensor& label, int64_t classes, double trust, const RowBlock& rows) {
  const Tensor shares =
      rows.sum(at::bincount(label, {}, classes)).to(torch::kFloat32) / static_cast<double>(rows.total(label.size(0)));
  return trust * shares + (1 - trust) / static_cast<double>(classes);
}

}  // namespace tributary

#include "tributary/methods/ma/generation.h"

#include <algorithm>
#include <cmath>

namespace tributary {

Tensor classes_from_normals(const Tensor& normals, int64_t classes) {
  const Tensor even = ((normals * M_SQRT1_2).erf() + 1) * (static_cast<double>(classes) / 2);
  return even.floor().clamp(0, static_cast<double>(classes - 1)).to(torch::kInt64);
}

Tensor discriminator_loss(const Tensor& real, const Tensor& generated) {
  return at::softplus(-real).mean() + at::softplus(generated).mean();
}

Tensor generator_loss(const Tensor& generated, bool saturating) {
  return saturating ? -at::softplus(generated).mean() : at::softplus(-generated).mean();
}

Tensor ramp_weight(const Tensor& done, int64_t warm_up, int64_t length) {
  return ((done + (1 - static_cast<double>(warm_up))) / static_cast<double>(std::max<int64_t>(1, length))).clamp(0, 1);
}

Tensor squared_distance(const std::vector<Tensor>& parameters, const std::vector<Tensor>& origin) {
  // Concatenated to one vector, because one kernel launch per tensor would be slow for a large network.
  const auto flat = [](const std::vector<Tensor>& tensors) {
    std::vector<Tensor> rows;
    for (const Tensor& tensor : tensors) rows.push_back(tensor.reshape({-1}));
    return at::cat(rows);
  };
  return (flat(parameters) - flat(origin)).square().sum();
}

}  // namespace tributary

#include "tributary/methods/aad/dispersion.h"

namespace tributary {

Tensor dispersion_weight(const Tensor& done, int64_t steps, double alpha, double beta) {
  return alpha * (1 + done * (10 / static_cast<double>(steps))).pow(-beta);
}

Tensor attraction(const Tensor& probabilities, const Tensor& neighbour_scores, const Tensor& counted) {
  const Tensor products = (neighbour_scores * probabilities.unsqueeze(1)).sum(2);
  return -(products * counted).sum(1).mean();
}

Tensor dispersion(const Tensor& probabilities, bool one_sided) {
  return dispersion_share(probabilities, probabilities.detach().sum(0), probabilities.size(0), one_sided);
}

Tensor dispersion_share(const Tensor& probabilities, const Tensor& sum, int64_t batch, bool one_sided) {
  const Tensor others = sum.detach() - probabilities.detach();
  const Tensor half = (probabilities * others).sum() / static_cast<double>(batch);
  return one_sided ? half : 2 * half - half.detach();
}

}  // namespace tributary

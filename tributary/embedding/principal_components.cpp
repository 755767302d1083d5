#include "tributary/embedding/principal_components.h"

#include <algorithm>
#include <tuple>

namespace tributary {
namespace {

constexpr int64_t kOversampled = 10, kIterations = 7;  // as in scikit-learn
constexpr int64_t kNumbers = int64_t{1} << 22;         // elements converted to double per block

// Calls use(first row, rows as double) for each block of rows.
template <typename Use>
void for_each_block(const Tensor& features, Use use) {
  const int64_t block = std::max<int64_t>(1, kNumbers / std::max<int64_t>(1, features.size(1)));
  for (int64_t first = 0; first < features.size(0); first += block)
    use(first, features.narrow(0, first, std::min(block, features.size(0) - first)).to(torch::kFloat64));
}

// X'X times `basis` [d, s], on the host.
Tensor scatter_times(const Tensor& features, const Tensor& basis) {
  const Tensor there = basis.to(features.device());
  Tensor sum = torch::zeros_like(there);
  for_each_block(features, [&](int64_t, const Tensor& rows) { sum += rows.t().matmul(rows.matmul(there)); });
  return sum.to(torch::kCPU);
}

}  // namespace

Tensor principal_scores(const Tensor& features, int64_t components, const Random& random) {
  torch::NoGradGuard no_grad;
  const int64_t points = features.size(0), width = features.size(1), most = std::min(points, width);
  components = std::min(components, most);
  Tensor basis = torch::empty({width, std::min(components + kOversampled, most)}, torch::kFloat64);
  Random draws = random;
  for (int64_t i = 0; i < basis.numel(); ++i) basis.data_ptr<double>()[i] = draws.bell();
  for (int64_t i = 0; i < kIterations; ++i) basis = std::get<0>(at::linalg_qr(scatter_times(features, basis)));
  const Tensor small = basis.t().matmul(scatter_times(features, basis));
  const Tensor vectors = std::get<1>(at::linalg_eigh((small + small.t()) / 2));  // by rising variance
  Tensor axes = basis.matmul(vectors.flip(1).narrow(1, 0, components));
  axes = axes * axes.gather(0, axes.abs().argmax(0, /*keepdim=*/true)).sign();
  axes = axes.to(features.device());
  Tensor scores = torch::empty({points, components}, axes.options());
  for_each_block(features, [&](int64_t first, const Tensor& rows) {
    scores.narrow(0, first, rows.size(0)).copy_(rows.matmul(axes));
  });
  return scores;
}

}  // namespace tributary

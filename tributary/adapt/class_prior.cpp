#include "tributary/adapt/class_prior.h"

#include <algorithm>

#include "tributary/adapt/agreement.h"

namespace tributary {

double mutual_trust(const Tensor& labels, int64_t classes) {
  const int64_t sources = labels.size(0);
  double sum = 0;
  for (int64_t i = 0; i < sources; ++i)
    for (int64_t j = i + 1; j < sources; ++j) sum += cohens_kappa(labels[i], labels[j], classes);
  const auto pairs = static_cast<double>(sources * (sources - 1)) / 2;
  return pairs > 0 ? std::clamp(sum / pairs, 0.0, 1.0) : 0;
}

Tensor estimated_prior(const Tensor& label, int64_t classes, double trust) {
  const Tensor shares = at::bincount(label, {}, classes).to(torch::kFloat32) / static_cast<double>(label.size(0));
  return trust * shares + (1 - trust) / static_cast<double>(classes);
}

}  // namespace tributary

#include "tributary/estimate/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "tributary/base/random.h"

namespace tributary {

double bootstrap_deviation(int64_t count, const std::function<double(const Tensor& rows)>& statistic, int64_t samples) {
  const torch::NoGradGuard no_grad;
  constexpr uint64_t kSeed = 1;
  double sum = 0, squares = 0;
  for (int64_t sample = 0; sample < samples; ++sample) {
    Random random = Random(kSeed).child(static_cast<uint64_t>(sample));
    const Tensor rows = torch::empty({count}, torch::kInt64);
    for (int64_t i = 0; i < count; ++i) rows.data_ptr<int64_t>()[i] = random.below(count);
    const double value = statistic(rows);
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(samples);
  return std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
}

}  // namespace tributary

#include "tributary/eval/metrics.h"

#include <numeric>

namespace tributary {

double accuracy_of(const Tensor& scores, const Tensor& label) {
  return (scores.argmax(-1) == label.to(scores.device())).to(torch::kFloat64).mean().item<double>();
}

Confusion confusion_of(const Tensor& scores, const Labels& truth) {
  const Tensor predicted = scores.argmax(-1).to(torch::kCPU);
  const auto row = predicted.accessor<int64_t, 1>();
  Confusion counts(truth.classes.size(), std::vector<int64_t>(truth.classes.size(), 0));
  for (int64_t i = 0; i < predicted.size(0); ++i) ++counts[truth.values[i]][row[i]];
  return counts;
}

std::vector<double> class_accuracies(const Confusion& confusion) {
  std::vector<double> accuracies;
  for (size_t k = 0; k < confusion.size(); ++k) {
    const auto total = static_cast<double>(std::accumulate(confusion[k].begin(), confusion[k].end(), int64_t{0}));
    accuracies.push_back(static_cast<double>(confusion[k][k]) / total);
  }
  return accuracies;
}

}  // namespace tributary

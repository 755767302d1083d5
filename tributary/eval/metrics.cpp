#include "tributary/eval/metrics.h"

#include <limits>

namespace tributary {

double accuracy_of(const Tensor& scores, const Tensor& label) {
  return (scores.argmax(-1) == label.to(scores.device())).to(torch::kFloat64).mean().item<double>();
}

Confusion confusion_of(const Tensor& scores, const Labels& truth) {
  const Tensor predicted = scores.argmax(-1).to(torch::kCPU);
  const auto row = predicted.accessor<int64_t, 1>();
  Confusion confusion{static_cast<int64_t>(truth.classes.size()), {}};
  for (int64_t i = 0; i < predicted.size(0); ++i) ++confusion.counts[{truth.values[i], row[i]}];
  return confusion;
}

std::vector<std::vector<int64_t>> dense(const Confusion& confusion) {
  const auto classes = static_cast<size_t>(confusion.classes);
  std::vector<std::vector<int64_t>> table(classes, std::vector<int64_t>(classes, 0));
  for (const auto& [cell, count] : confusion.counts) table[cell.first][cell.second] = count;
  return table;
}

std::vector<int64_t> class_sizes(const Confusion& confusion) {
  std::vector<int64_t> sizes(static_cast<size_t>(confusion.classes), 0);
  for (const auto& [cell, count] : confusion.counts) sizes[cell.first] += count;
  return sizes;
}

std::vector<double> class_accuracies(const Confusion& confusion) {
  std::vector<double> accuracies;
  for (const int64_t size : class_sizes(confusion)) {
    const auto k = static_cast<int64_t>(accuracies.size());
    const auto right = confusion.counts.find({k, k});
    accuracies.push_back(size == 0 ? std::numeric_limits<double>::quiet_NaN()
                                   : static_cast<double>(right == confusion.counts.end() ? 0 : right->second) /
                                         static_cast<double>(size));
  }
  return accuracies;
}

}  // namespace tributary

// Accuracy and confusion matrix of predictions.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tributary/base/tensor.h"
#include "tributary/data/image_set.h"

namespace tributary {

// Fraction of rows of `scores` [n, K] (logits or probabilities) whose argmax is `label` (int64 [n]).
double accuracy_of(const Tensor& scores, const Tensor& label);

// The cells that are not zero, by truth and prediction: their number grows with the pictures, not with K squared.
struct Confusion {
  int64_t classes = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
};
Confusion confusion_of(const Tensor& scores, const Labels& truth);

// counts[truth][predicted], with all zeros.
std::vector<std::vector<int64_t>> dense(const Confusion& confusion);

// Samples per class.
std::vector<int64_t> class_sizes(const Confusion& confusion);

// Fraction of correct predictions per class; NaN for a class without samples.
std::vector<double> class_accuracies(const Confusion& confusion);

}  // namespace tributary

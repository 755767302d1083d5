// Accuracy and confusion matrix of predictions.
#pragma once

#include <vector>

#include "tributary/base/tensor.h"
#include "tributary/data/image_set.h"

namespace tributary {

// Fraction of rows of `scores` [n, K] (logits or probabilities) whose argmax is `label` (int64 [n]).
double accuracy_of(const Tensor& scores, const Tensor& label);

// counts[truth][predicted].
using Confusion = std::vector<std::vector<int64_t>>;
Confusion confusion_of(const Tensor& scores, const Labels& truth);

// Fraction of correct predictions per class; NaN for a class without samples.
std::vector<double> class_accuracies(const Confusion& confusion);

}  // namespace tributary

// How good predictions are, for whoever has labels.
#pragma once

#include <vector>

#include "tributary/base/tensor.h"
#include "tributary/data/image_set.h"

namespace tributary {

// The share of rows of `scores` [n, K] (logits or probabilities) whose largest entry is at `label` [n].
double accuracy_of(const Tensor& scores, const Tensor& label);

// counts[truth][predicted].
using Confusion = std::vector<std::vector<int64_t>>;
Confusion confusion_of(const Tensor& scores, const Labels& truth);

// The share of each class that is recognised; NaN for a class without samples.
std::vector<double> class_accuracies(const Confusion& confusion);

}  // namespace tributary

// Predictions on paper: picture, class, confidence and how many sources agree.
#pragma once

#include <string>

#include "tributary/base/tensor.h"
#include "tributary/data/image_set.h"

namespace tributary {

enum class PredictionFormat { kCsv, kJsonLines };

// `probabilities` [n, K] of the mixture and `logits` [m, n, K] of its sources, in the order of `images`. "agreement" is
// the share of sources that would have said the same.
std::string predictions_text(const ImageSet& images, const std::vector<std::string>& classes,
                             const Tensor& probabilities, const Tensor& logits, PredictionFormat format);

}  // namespace tributary

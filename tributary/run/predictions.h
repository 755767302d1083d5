// Predictions on paper: picture, class, confidence, how many sources agree and what each of them says.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/tensor.h"
#include "tributary/data/load.h"
#include "tributary/model/ensemble.h"

namespace tributary {

enum class PredictionFormat { kCsv, kJsonLines };

// `probabilities` [n, K] of the mixture and `logits` [m, n, K] of its sources, in the order of `images`. "agreement" is
// the share of sources that would have said the same; a mixture of several also gives each one's class. Pictures that
// were set aside come last, with the reason in place of a class.
std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const Tensor& probabilities, const Tensor& logits,
                             PredictionFormat format);

}  // namespace tributary

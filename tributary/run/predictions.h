// Predictions as CSV or JSON: picture, class, confidence, agreement of the sources and the class of each.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/tensor.h"
#include "tributary/data/load.h"
#include "tributary/model/ensemble.h"

namespace tributary {

enum class PredictionFormat { kCsv, kJsonLines };

// What the text needs of the predictions, on the host.
struct PredictedLabels {
  Tensor label;       // int64 [n], of the mixture
  Tensor confidence;  // float [n], its probability
  Tensor by_source;   // int64 [m, n], label per source
  Tensor check = {};  // bool [n]: to be checked by hand; undefined if unknown
};
// From the probabilities [n, K] of the mixture and the logits [m, n, K] of its sources.
PredictedLabels predicted_labels(const Tensor& probabilities, const Tensor& logits);

// `probabilities` [n, K] of the mixture and `logits` [m, n, K] of its sources, in the order of `images`. "agreement" is
// the share of sources with the same class; a mixture of several sources also lists the class of each. "check" is yes
// or no, where known. Skipped pictures come last, with the reason in place of a class.
std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const Tensor& probabilities, const Tensor& logits,
                             PredictionFormat format);
std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const PredictedLabels& predictions, PredictionFormat format);

// The class column of such a file without skipped pictures, as indices into `classes`, int64 [n].
Tensor predicted_classes(const std::string& csv_path, const std::vector<std::string>& classes);

// The pictures with a prediction in a file of predictions_text (kCsv), in its order. Throws an InputError if the file
// is damaged.
std::vector<std::string> predicted_pictures(const std::string& csv_path);

}  // namespace tributary

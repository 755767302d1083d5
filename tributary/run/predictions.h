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
  Tensor by_source;   // int64 [m, n], label per source, out of the classes that it knows
  Tensor check = {};  // bool [n]: to be checked by hand; undefined if unknown
};
// From the probabilities [n, K] of the mixture, and the logits [m, n, K] and Ensemble::known() of its sources.
PredictedLabels predicted_labels(const Tensor& probabilities, const Tensor& logits, const Tensor& known);

// `probabilities` [n, K] of the mixture and `logits` [m, n, K] of its sources, in the order of `images`. "agreement" is
// the share of sources with the same class, out of those that know it; a mixture of several sources also lists the
// class of each. "check" is yes or no, where known. Skipped pictures come last, with the reason in place of a class.
std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const Tensor& probabilities, const Tensor& logits,
                             PredictionFormat format);
std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const PredictedLabels& predictions, PredictionFormat format);

// A prediction in a file of predictions_text (kCsv).
struct StoredPrediction {
  std::string picture, label;
};

// The predictions in such a file, in its order, without skipped pictures. Throws an InputError if the file is damaged.
std::vector<StoredPrediction> stored_predictions(const std::string& csv_path);
// Their classes, as indices into `classes`, int64 [n].
Tensor predicted_classes(const std::string& csv_path, const std::vector<std::string>& classes);
// Their pictures.
std::vector<std::string> predicted_pictures(const std::string& csv_path);

// Throws an InputError unless `images`, of the target `path`, have the names of the run's predictions; `advice` ends
// the sentence.
void require_pictures_of_run(const ImageSet& images, const std::vector<std::string>& names, const std::string& path,
                             const std::string& advice);

}  // namespace tributary

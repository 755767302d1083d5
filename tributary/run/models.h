// Models and names by the paths that users give.
#pragma once

#include <string>
#include <vector>

#include "tributary/model/ensemble.h"
#include "tributary/model_io/import_weights.h"

namespace tributary {

// Loads one model from a run folder, a mixture file or a source file. Several paths are sources of a plain ensemble.
// `rule` changes how the models are combined (mean_prob, vote, ...); empty keeps the model's own rule.
Ensemble load_models(const std::vector<std::string>& paths, const std::string& rule, const ImportOptions& options);

// The domain that a path names: "webcam" for "photos/webcam/" and for "data/webcam/train-images.idx".
std::string domain_of(const std::string& path);

}  // namespace tributary

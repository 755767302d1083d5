// Models and names by the paths that users give.
#pragma once

#include <string>
#include <vector>

#include "tributary/model/ensemble.h"
#include "tributary/model_io/import_weights.h"

namespace tributary {

// Loads one model from a run folder, a mixture file or a source file. Several are sources of a plain ensemble
// (load_sources() of model_io/model_file.h, also for `notices`). `rule` changes how the models are combined (mean_prob,
// vote, ...); empty keeps the model's own rule.
Ensemble load_models(const std::vector<std::string>& models, const std::string& rule, const ImportOptions& options,
                     std::vector<std::string>* notices = nullptr);

// The domain that the path of pictures names: "webcam" for "photos/webcam/", "webcam/train" and for
// "data/webcam/train-images.idx". If it names none, as "data/train", the name is `otherwise`, or the last folder's.
std::string domain_of(const std::string& path, const std::string& otherwise = "");

}  // namespace tributary

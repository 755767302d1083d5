// Models on disk: one .safetensors file that says everything about its model.
//
// A source file holds one source; a mixture file holds every source under "source.0.", "source.1.", .., the mixture's
// weights and rule. Both carry their description as JSON in the metadata.
#pragma once

#include <string>
#include <vector>

#include "tributary/model/ensemble.h"

namespace tributary {

void save_source(const std::string& path, const SourceModel& source);
void save_ensemble(const std::string& path, const Ensemble& ensemble);

// Both throw an InputError that names the file and what is wrong with it: missing, not a model, a tensor missing or of
// another shape, a value that is not finite.
SourceModel load_source(const std::string& path);
// Reads a mixture file, or a source file as an ensemble of one.
Ensemble load_ensemble(const std::string& path);

// Several source files as one plain ensemble (mean of the probabilities).
Ensemble load_sources(const std::vector<std::string>& paths);

}  // namespace tributary

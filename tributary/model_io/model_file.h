// Models on disk: one .safetensors file that says everything about its model.
//
// A source file holds one source; a mixture file holds every source under "source.0.", "source.1.", .., the mixture's
// weights and rule. Both carry their description as JSON in the metadata. A TorchScript source is stored as the bytes
// of its file.
#pragma once

#include <string>
#include <vector>

#include "tributary/model/ensemble.h"
#include "tributary/model_io/import_weights.h"

namespace tributary {

void save_source(const std::string& path, const SourceModel& source);
void save_ensemble(const std::string& path, const Ensemble& ensemble);

// All throw an InputError that names the file and what is wrong with it: missing, not a model, a tensor missing or of
// another shape, a value that is not finite. Checkpoints of others are read too (checkpoint.h); TorchScript, in a file
// of its own or in one of ours, only where `options.trust` says so.
SourceModel load_source(const std::string& path, const ImportOptions& options = {});
// Reads a mixture file, or anything that is one source as an ensemble of one.
Ensemble load_ensemble(const std::string& path, const ImportOptions& options = {});

// Several sources as one plain ensemble (mean of the probabilities).
Ensemble load_sources(const std::vector<std::string>& paths, const ImportOptions& options = {});

// Whether this program wrote the file.
bool is_ours(const SafetensorsFile& file);

}  // namespace tributary

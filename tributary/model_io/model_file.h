// Model files: one self-contained .safetensors file per model.
//
// A source file holds one source. A mixture file holds all sources, prefixed with "source.0.", "source.1.", .., and the
// mixture's weights and rule. The metadata describe the model as JSON. A TorchScript source is stored as the bytes of
// its file.
#pragma once

#include <string>
#include <vector>

#include "tributary/model/ensemble.h"
#include "tributary/model_io/import_weights.h"

namespace tributary {

void save_source(const std::string& path, const SourceModel& source);
void save_ensemble(const std::string& path, const Ensemble& ensemble);

// The load functions throw an InputError that names the file if it is missing or not a model, or if a tensor is
// missing, has another shape or has non-finite values. They also import weights of other programs (import_weights.h).
// TorchScript, in a file of its own or within a model file, is loaded only if `options.trust` is set.
SourceModel load_source(const std::string& path, const ImportOptions& options = {});
// Reads a mixture file, or a single source as an ensemble of one.
Ensemble load_ensemble(const std::string& path, const ImportOptions& options = {});

// Loads several sources as a plain ensemble (mean probability).
Ensemble load_sources(const std::vector<std::string>& paths, const ImportOptions& options = {});

// Whether the file is a model file in our own format.
bool is_ours(const SafetensorsFile& file);

}  // namespace tributary

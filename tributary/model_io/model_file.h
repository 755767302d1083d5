// Model files: one self-contained .safetensors file per model.
//
// A source file holds one source. A mixture file holds all sources, prefixed with "source.0.", "source.1.", .., and the
// mixture's weights and rule. The metadata describe the model as JSON. A TorchScript source is stored as the bytes of
// its file.
#pragma once

#include <string>
#include <vector>

#include "tributary/io/safetensors.h"
#include "tributary/model/ensemble.h"
#include "tributary/model_io/import_weights.h"
#include "tributary/model_io/student.h"

namespace tributary {

// `record` is further metadata.
void save_source(const std::string& path, const SourceModel& source, const SafetensorsMetadata& record = {});
void save_ensemble(const std::string& path, const Ensemble& ensemble);

// The load functions throw an InputError that names the file if it is missing or not a model, or if a tensor is
// missing, has another shape or has non-finite values. They also import weights of other programs (import_weights.h).
// TorchScript, in a file of its own or within a model file, is loaded only if `options.trust` is set. `imported`, which
// may be null, tells whether the file is one of another program.
SourceModel load_source(const std::string& path, const ImportOptions& options = {}, bool* imported = nullptr);
// Reads a mixture file, or a single source as an ensemble of one. `source` and `notices` as in load_sources().
Ensemble load_ensemble(const std::string& source, const ImportOptions& options = {},
                       std::vector<std::string>* notices = nullptr);

// Loads several sources as a plain ensemble (mean probability). Each is a path, or a path with its own options
// (source_spec.h). Classes are united, in the order of the first source, by name (class_order.h). Adds to `notices`,
// which may be null, where an order was changed, what is only assumed, and where sources know different classes. Throws
// an InputError if two sources have one name, or if `options` describe weights of other programs and there are none.
Ensemble load_sources(const std::vector<std::string>& sources, const ImportOptions& options = {},
                      std::vector<std::string>* notices = nullptr);

// The same for sources of which some may be score files (io/score_file.h). They become fixed sources, after the others,
// whose pictures are still to be matched. A student joins as the last source if no model is given, if the models do not
// know all classes, or if `student` describes one.
Ensemble load_members(const std::vector<std::string>& sources, const StudentOptions& student,
                      const ImportOptions& options = {}, std::vector<std::string>* notices = nullptr);

// The descriptions of the sources in a model file of our own, without loading them.
std::vector<ModelInfo> describe_sources(const std::string& path);

// Throws an InputError if an option describes weights of other programs; `path` is a model file of our own.
void refuse_description(const ImportOptions& options, const std::string& path);

// Whether the file is a model file in our own format.
bool is_ours(const SafetensorsFile& file);

}  // namespace tributary

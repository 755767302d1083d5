// Preprocessing from the config.json that timm stores beside its weights.
#pragma once

#include <string>

#include "tributary/model_io/import_weights.h"

namespace tributary {

// Fills options that the user did not give from the `pretrained_cfg` of the config.json in the folder of the weights
// `path`: size, crop fraction, interpolation, mean, deviation, and the architecture if we know it by that name.
// Pictures then keep their aspect ratio, as timm crops them. Returns whether there is such a file. Throws an InputError
// that names it if its values are not valid.
bool apply_timm_config(const std::string& path, ImportOptions& options);

// Whether mean and deviation of weights at `path` are given, by an option or by a file.
bool knows_preprocessing(const std::string& path, const ImportOptions& options);

}  // namespace tributary

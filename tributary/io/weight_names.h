// Maps tensor names of foreign state dictionaries to ours, and recognises their architecture.
//
// Supports torchvision's classifiers and the research scripts' three files: F (torchvision's names without the
// classifier, or `conv_params.N.*`), B (`bottleneck.*`, `bn.*`) and C (`fc.*`: weight_norm, its parametrization, or a
// plain linear layer). Names are unambiguous, so one function handles whole models and their parts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tributary {

// Our name of a tensor: "layer1.0.conv1.weight" becomes "backbone.layer1.0.conv1.weight", "fc.weight"
// becomes "classifier.weight". Our own names are unchanged.
std::string our_name(const std::string& theirs);

// Shapes by our names.
using ShapeMap = std::map<std::string, std::vector<int64_t>>;

// The architecture that has these tensors; empty if none of the known ones does.
std::string recognise(const ShapeMap& shapes);

}  // namespace tributary

// Foreign state dictionaries: what their tensors are called here, and which network they belong to.
//
// Two families are known: torchvision's classifiers, and the research scripts' three files F (torchvision's names
// without the classifier, or `conv_params.N.*`), B (`bottleneck.*`, `bn.*`) and C (`fc.*`, weight-normalised in the old
// way, in the new way, or plain). No name means two things, so one function serves whole files and parts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tributary {

// Our name of a tensor: "layer1.0.conv1.weight" is "backbone.layer1.0.conv1.weight", "fc.weight" is
// "classifier.weight". Our own names stay as they are.
std::string our_name(const std::string& theirs);

// Shapes by our names.
using ShapeMap = std::map<std::string, std::vector<int64_t>>;

// The architecture that has such tensors, by what distinguishes the known ones; empty where none does.
std::string recognise(const ShapeMap& shapes);

}  // namespace tributary

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

// One name of a foreign state dictionary and its shape.
struct ForeignTensor {
  std::string name;
  std::vector<int64_t> shape;
};

// Our names of the tensors of one file, in its order. Prefixes of wrappers ("module." of DataParallel, "model." of
// Lightning, "_orig_mod." of torch.compile) are dropped where all names have them, or where the rest then is a known
// network. A head Sequential(Dropout, Linear), "fc.1.weight", counts as its only layer: "fc.weight".
std::vector<std::string> our_names(const std::vector<ForeignTensor>& theirs);

// Drops the prefixes of wrappers that all names share.
std::vector<std::string> without_wrapper_prefixes(std::vector<std::string> names);
// The same names with one of these prefixes dropped where they have it, for each prefix that some of them have.
std::vector<std::vector<std::string>> without_partial_prefixes(const std::vector<std::string>& names);

// Names of layers that may be the last linear one, last in the file first: those with a two-dimensional weight.
std::vector<std::string> last_layer_candidates(const std::vector<ForeignTensor>& theirs);

// The architecture that has these tensors; empty if none of the known ones does.
std::string recognise(const ShapeMap& shapes);

}  // namespace tributary

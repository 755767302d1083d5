// Recognises networks by their tensors, in the names of torchvision, timm and the dialects of io/dialects.h.
//
// A description of a network holds its names in both libraries (network.h), so recognition compares the tensors of a
// file with every description. The residual networks and VGG, which all libraries name alike, are recognised before
// (io/weight_names.h).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tributary/io/tensor_file.h"
#include "tributary/model/backbone.h"

namespace tributary {

struct NetworkMatch {
  std::string architecture;        // empty if none fits
  std::string nearest;             // the one with the most tensors in common
  double share = 0;                // of tensors in common with it
  std::vector<std::string> unfit;  // tensors of the file that the nearest does not have, or has in another shape
  // Per tensor of the file: our name, "backbone.conv_proj.weight"; empty for tensors that carry no weights. A tensor of
  // several parts has its name at the first one.
  std::vector<std::string> names;
  // What replaces a tensor of the file: its parts joined. Null for the others.
  std::vector<const TensorEntry*> joined;
  std::deque<TensorEntry> made;            // entries that `joined` points to
  std::deque<std::vector<uint8_t>> bytes;  // their data
};

// Compares the tensors of `file` with every architecture, or only with `architecture` if it is given.
NetworkMatch match_network(const TensorFile& file, const std::string& architecture = "");

// Whether io/weight_names.h maps the names of that architecture.
bool has_common_names(const std::string& architecture);

}  // namespace tributary

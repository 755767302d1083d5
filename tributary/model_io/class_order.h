// Brings the classes of several sources into one order, by name.
//
// Outputs are mixed class by class. Checkpoints that were trained on the same classes may number them differently, so
// the rows of their classifiers are reordered to the order of the first source.
#pragma once

#include <string>
#include <vector>

#include "tributary/model/source_model.h"

namespace tributary {

// The permutation that turns `theirs` into `ours`: ours[k] is theirs[order[k]]. Names are compared as in
// base/class_names.h. Empty if they are not the same.
std::vector<int64_t> class_order(const std::vector<std::string>& theirs, const std::vector<std::string>& ours);

// Gives every source the classes of the first, in its order and spelling. Returns the numbers of the sources whose
// order changed. Throws an InputError that names both files if their classes differ, or if the classifier of a
// TorchScript source cannot be reordered. `files[j]` is the file of source j.
std::vector<size_t> align_classes(std::vector<SourceModel>& sources, const std::vector<std::string>& files);

}  // namespace tributary

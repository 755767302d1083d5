// Brings the classes of several sources into one order, by name.
//
// Outputs are mixed class by class. Checkpoints that were trained on the same classes may number them differently, so
// the rows of their classifiers are reordered to the order of the first source. Sources may also know different
// classes.
#pragma once

#include <string>
#include <vector>

#include "tributary/model/ensemble.h"

namespace tributary {

// The permutation that turns `theirs` into `ours`: ours[k] is theirs[order[k]]. Names are compared as in
// base/class_names.h. Empty if they are not the same.
std::vector<int64_t> class_order(const std::vector<std::string>& theirs, const std::vector<std::string>& ours);

// Gives every source the union of the classes, by name: those of the first source in its order and spelling, then those
// that the next one adds. If all know the same classes, the outputs of the others are reordered; returns the numbers of
// those. Otherwise a source has outputs for some of the classes only (model/class_sets.h). Throws an InputError that
// names two files if sources have no class in common, not even through others, or if the classifier of a TorchScript
// source cannot be reordered. `files[j]` is the file of source j.
std::vector<size_t> align_classes(std::vector<SourceModel>& sources, const std::vector<std::string>& files);

// The same for sources, which may be none, and fixed sources. `files` are those of the sources, then those of the fixed
// ones. A fixed source may link sources that have no class in common.
std::vector<size_t> align_classes(Ensemble& ensemble, const std::vector<std::string>& files);

}  // namespace tributary

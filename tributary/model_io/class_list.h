// Lists of class names: one per line, "NAME", or "OLD = NEW" to rename a class or to merge it into another.
#pragma once

#include <string>
#include <vector>

#include "tributary/io/model_info.h"

namespace tributary {

class SourceModel;

// Two classes with one new name are merged.
struct ClassList {
  std::vector<std::string> names;      // as the model calls its classes
  std::vector<std::string> new_names;  // the same without a new name
  bool only_renames = true;            // every line is OLD = NEW
};

// Throws an InputError if a name is listed twice without being merged, or is empty.
ClassList read_class_list(const std::string& path);

// Gives a model without class names those of the list, in the order of its `count` outputs; "0", "1", .. if `path` is
// empty. Throws an InputError if the list has another length. `file` is the model.
void name_outputs(const std::string& path, int64_t count, const std::string& file, ModelInfo& info);

// Renames and merges `classes`, and gives every output its class among them: `outputs[o]` is that of output o. As
// rename_classes() below.
std::vector<bool> rename_classes(std::vector<std::string>& classes, std::vector<int64_t>& outputs,
                                 const std::string& path, const std::string& file, bool optional);
// Renames and merges the classes of a model that has names. Names that the model lacks are skipped if `optional`, else
// an InputError names the list and `file`. Returns which lines name a class of the model.
std::vector<bool> rename_classes(SourceModel& source, const std::string& path, const std::string& file, bool optional);

}  // namespace tributary

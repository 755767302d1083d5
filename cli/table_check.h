// Checks the options of all adaptations of a table before its sources are trained, which can take hours.
#pragma once

#include <string>
#include <vector>

#include "tributary/experiments/tables.h"

namespace tributary::cli {

// The flags that give `adapt` the option `key`, as --set and --sweep name it. Throws an InputError, which starts with
// `where`, unless the option exists and accepts the value.
std::vector<std::string> flags_of_option(std::string key, const std::string& value, const std::string& where);

// Parses and checks the arguments of every adaptation as the program will. Throws an InputError if a row sets an option
// that the table also sets, or if options do not go together. `task` needs the names of its domains only.
void require_valid_adaptations(const TableTask& task);

// Throws an InputError if the table's folder holds adaptations with other options or from other sources, unless they
// are to be repeated.
void require_same_adaptations(const TableTask& task);

}  // namespace tributary::cli

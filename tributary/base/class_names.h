// Compares the class names of models, lists and folders.
//
// The same classes are spelled "Dog" by one program and "dog" by another, so upper and lower case do not count, unless
// a list has names that differ in nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

// The index in `known` of every name, or -1 if `known` lacks it.
std::vector<int64_t> class_indices(const std::vector<std::string>& names, const std::vector<std::string>& known);

// The lines of a text file with class names, trimmed, without the byte-order mark that Windows editors write. Empty
// lines stay, so that an index is a line number.
std::vector<std::string> class_lines(const std::string& text);

// Whether the names are "0", "1", "2", ..., as of a model that came without names.
bool are_numbered(const std::vector<std::string>& names);

}  // namespace tributary

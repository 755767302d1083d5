// List files: text with one picture a line, and perhaps its label.
//
// The form in which Office-31, DomainNet and their relatives are published: paths relative to somebody's data folder,
// a blank, the class index. Paths may hold blanks themselves, so a line is read with a look at what exists.
#pragma once

#include <string>
#include <vector>

#include "tributary/data/listing.h"

namespace tributary {

// The pictures of a list file: lines `path` or `path label`, empty lines and lines that begin with # left out. The
// label is the last word if that is a whole number and the line as a whole names no file. Relative paths are looked up
// under `root`, or if that is empty beside the list file, for NAME_labels.txt in the folder NAME beside it (as MNIST-M
// has it), and then in the working folder.
Listing list_from_file(const std::string& file, const std::string& root);

// As above with a label on every line, below expected.size(); without `expected` the classes are "0" .. the largest.
Listing list_from_labelled_file(const std::string& file, const std::string& root,
                                const std::vector<std::string>& expected);

}  // namespace tributary

// Reads list files: one picture per line, optionally with its label.
//
// Office-31, DomainNet and others are published in this format: a path relative to a data folder, a space, the class
// index. Paths may contain spaces, so parsing a line depends on which files exist.
#pragma once

#include <string>
#include <vector>

#include "tributary/data/listing.h"

namespace tributary {

// Reads lines `path` or `path label`; empty lines and lines that start with # are ignored. The label is the last word
// if it is an integer and the whole line is not the name of a file. Relative paths are resolved against `root`. If that
// is empty, they are searched in the folder of the list file, for NAME_labels.txt in its subfolder NAME (as in
// MNIST-M), and in the working folder.
Listing list_from_file(const std::string& file, const std::string& root);

// The same with a label on every line, less than expected.size(). If `expected` is empty, the classes are "0" .. the
// largest label.
Listing list_from_labelled_file(const std::string& file, const std::string& root,
                                const std::vector<std::string>& expected);

}  // namespace tributary

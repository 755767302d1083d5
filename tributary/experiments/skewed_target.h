// Targets with skewed classes for a table: a subset of a domain's pictures, written as a set of its own.
#pragma once

#include <cstdint>
#include <string>

#include "tributary/data/skew.h"

namespace tributary {

// Writes the skewed subset (data/skew.h) of the labelled pictures at `path` and returns where it is: NAME.txt, a list
// of the files, or NAME-images.idx with its labels if the pictures lie in a packed file. `name` is a path without an
// ending. Throws an InputError if the pictures are neither, as in shards.
std::string write_skewed(const std::string& path, Skew skew, uint64_t seed, const std::string& name);

}  // namespace tributary

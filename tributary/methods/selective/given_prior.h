// A class prior that the user gives: a text file with a line "CLASS SHARE" for every class.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// The prior in the order of `classes`, float [K] with sum 1. Shares need not sum to 1; counts will do. Throws an
// InputError that names the file and the line if a class is unknown, missing or named twice, or a share is no number
// of at least 0.
Tensor read_class_prior(const std::string& path, const std::vector<std::string>& classes);

}  // namespace tributary

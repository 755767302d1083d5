// The student of sources that are only predictions: a new source, which learns from the labels of the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/model_io/import_weights.h"

namespace tributary {

struct StudentOptions {
  std::string init;     // initial weights: a file; empty: random
  std::string network;  // empty: that of `init`, that of the sources if it takes small pictures, or lenet
  uint64_t seed = 0;    // of random weights
};

// Declares `init` and `student`.
void declare(OptionTable& table, StudentOptions& options);

// Makes a student for `classes`. It takes the pictures of `beside`, one of the other sources; without one (null), those
// of its own network, as `import` says. Throws an InputError if a network for photographs has no initial weights.
SourceModel make_student(const StudentOptions& options, const ImportOptions& import, const SourceModel* beside,
                         const std::vector<std::string>& classes);

}  // namespace tributary

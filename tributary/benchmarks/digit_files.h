// Finds the training or test pictures of a Digit-Five domain.
//
// A domain has its own folder with IDX files, class folders or its authors' files, or shares a folder with the other
// domains as .mat files.
#pragma once

#include <string>

#include "tributary/benchmarks/catalogue.h"

namespace tributary {

struct DigitFile {
  std::string path;     // for load_images and load_labelled
  std::string missing;  // what was not found; empty if it was
};

// Finds `part`, "train" or "test", by file names. `folder` is the domain's own folder, empty if it has none.
DigitFile find_digits(const Domain& domain, const std::string& root, const std::string& folder,
                      const std::string& part);

}  // namespace tributary

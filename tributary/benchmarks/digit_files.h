// Finds the training and test pictures of a Digit-Five domain.
//
// They are in the domain's own folder as IDX, class folders or the authors' files; or in one folder with the other
// domains, as the .mat files of the M3SDA repository.
#pragma once

#include <string>

#include "tributary/benchmarks/catalogue.h"

namespace tributary {

struct DigitFile {
  std::string path;     // for load_images and load_labelled
  std::string missing;  // a description of the missing files; empty if found
};

// Searches for `part`, "train" or "test", by file names. `folder` is the domain's own folder, or empty.
DigitFile find_digits(const Domain& domain, const std::string& root, const std::string& folder,
                      const std::string& part);

}  // namespace tributary

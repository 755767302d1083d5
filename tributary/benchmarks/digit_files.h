// Where a domain of Digit-Five keeps its training or test pictures.
//
// In its own folder as IDX, as class folders or as its authors' files; or in one folder with the other domains, as the
// .mat files that the field shares.
#pragma once

#include <string>

#include "tributary/benchmarks/catalogue.h"

namespace tributary {

struct DigitFile {
  std::string path;     // as load_images and load_labelled take it
  std::string missing;  // what was looked for; empty where it is there
};

// Looks for `part`, "train" or "test", by names alone. `folder` is the domain's own, empty where it has none.
DigitFile find_digits(const Domain& domain, const std::string& root, const std::string& folder,
                      const std::string& part);

}  // namespace tributary

// Loads the pictures of a caller, from files or memory.
#pragma once

#include <string>
#include <vector>

#include "tributary/api/pictures.h"

namespace tributary {

ImageSet load_images(const Pictures& pictures, const LoadOptions& load, std::vector<SkippedPicture>* skipped);
LabelledImages load_labelled(const Pictures& pictures, const LoadOptions& load, const std::vector<std::string>& classes,
                             std::vector<SkippedPicture>* skipped);

}  // namespace tributary

// Small pictures for pages.
#pragma once

#include <string>

#include "tributary/data/image_set.h"

namespace tributary {

// Picture `index` as the data: address of a PNG, its longer side at most `side` pixels.
std::string thumbnail(const ImageSet& pictures, int64_t index, int side);

}  // namespace tributary

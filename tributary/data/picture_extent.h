// The size that the pictures of a path have on disk, before they are resized.
#pragma once

#include <cstdint>
#include <string>

#include "tributary/data/load.h"

namespace tributary {

struct PictureExtent {
  int64_t width = 0, height = 0;  // 0 if no picture could be read

  int64_t longer() const { return width > height ? width : height; }
};

// The median, by the longer side, of a few pictures from all over the set. The path is one that load_images() takes.
PictureExtent typical_extent(const std::string& path, const LoadOptions& options);

}  // namespace tributary

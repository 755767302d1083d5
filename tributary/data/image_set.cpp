#include "tributary/data/image_set.h"

#include <cstring>
#include <utility>

#include "tributary/base/threads.h"

namespace tributary {

void copy_pictures(const ImageSet& images, std::span<const int64_t> index, uint8_t* to) {
  const int64_t bytes = images.picture_bytes();
  if (!images.in_memory()) {
    parallel_for(static_cast<int64_t>(index.size()), images.threads,
                 [&](int64_t i) { images.read(index[static_cast<size_t>(i)], to + i * bytes); });
    return;
  }
  for (const int64_t i : index) {
    std::memcpy(to, images.picture(i), static_cast<size_t>(bytes));
    to += bytes;
  }
}

ImageSet subset(const ImageSet& images, std::vector<int64_t> index) {
  ImageSet part;
  part.height = images.height;
  part.width = images.width;
  part.crop = images.crop;
  part.digest = images.digest;
  part.threads = images.threads;
  part.feature_bytes = images.feature_bytes;
  for (const int64_t i : index) part.names.push_back(images.names[static_cast<size_t>(i)]);
  if (images.in_memory()) {
    part.pixels.resize(static_cast<size_t>(part.size() * part.picture_bytes()));
    copy_pictures(images, index, part.pixels.data());
  } else {
    part.read = [read = images.read, index = std::move(index)](int64_t i, uint8_t* to) {
      read(index[static_cast<size_t>(i)], to);
    };
  }
  return part;
}

}  // namespace tributary

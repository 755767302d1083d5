// Small models and pictures for tests.
#pragma once

#include <cstring>

#include "tributary/base/random.h"
#include "tributary/data/image_set.h"
#include "tributary/data/listing.h"
#include "tributary/model/ensemble.h"

namespace tributary::test {

inline ModelInfo small_info(const std::string& architecture = "lenet", int64_t classes = 10, int64_t width = 256) {
  ModelInfo info = fresh_info(architecture, architecture, numbered_classes(classes));
  info.feature_width = width;
  return info;
}

inline Ensemble small_ensemble(const std::vector<std::string>& architectures, int64_t classes = 10) {
  Ensemble ensemble;
  uint64_t seed = 1;
  for (const std::string& architecture : architectures)
    ensemble.sources.emplace_back(small_info(architecture, classes), Random(seed++));
  return ensemble;
}

// Pictures of random pixels, 32 x 32.
inline ImageSet noise_pictures(int64_t count, uint64_t seed = 1) {
  ImageSet images;
  images.height = images.width = 32;
  Random random(seed);
  for (int64_t i = 0; i < count; ++i) images.names.push_back("noise[" + std::to_string(i) + "]");
  images.pixels.resize(static_cast<size_t>(count * images.picture_bytes()));
  for (uint8_t& value : images.pixels) value = static_cast<uint8_t>(random.below(256));
  return images;
}

// The same pictures, read on demand instead of kept in memory.
inline ImageSet streamed(const ImageSet& images) {
  ImageSet set = subset(images, {});
  set.names = images.names;
  set.pixels.clear();
  set.read = [images](int64_t index, uint8_t* to) {
    std::memcpy(to, images.picture(index), static_cast<size_t>(images.picture_bytes()));
  };
  return set;
}

}  // namespace tributary::test

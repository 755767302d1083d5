#include "tributary/experiments/synthetic.h"

#include <algorithm>

#include "tributary/base/random.h"
#include "tributary/data/listing.h"
#include "tributary/model/backbone.h"

namespace tributary {

ImageSet random_pictures(int64_t count, const Preprocessing& preprocessing) {
  ImageSet images;
  images.height = images.width = preprocessing.resize;
  images.crop = preprocessing.size;
  images.names.resize(static_cast<size_t>(count));
  images.pixels.resize(static_cast<size_t>(count * images.picture_bytes()));
  Random random(1);
  for (uint8_t& value : images.pixels) value = static_cast<uint8_t>(random.bits());
  return images;
}

Ensemble random_sources(const std::string& architecture, int64_t count, int64_t classes) {
  const ModelInfo info = fresh_info(architecture, architecture, numbered_classes(classes));
  Ensemble ensemble;
  for (int64_t j = 0; j < count; ++j) ensemble.sources.emplace_back(info, Random(static_cast<uint64_t>(j)));
  return ensemble;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tributary

#include "tributary/model/ensemble.h"

#include "tributary/base/error.h"

namespace tributary {

int64_t Ensemble::joint_width() const {
  int64_t width = 0;
  for (const SourceModel& source : sources) width += source.info().feature_width;
  return width;
}

void Ensemble::to(torch::Device device) {
  for (SourceModel& source : sources) source.to(device);
}

void require_compatible(const std::vector<SourceModel>& sources, const std::vector<std::string>& files) {
  const ModelInfo& first = sources.front().info();
  for (size_t j = 1; j < sources.size(); ++j) {
    const ModelInfo& other = sources[j].info();
    if (other.classes.size() != first.classes.size())
      input_error("{} has {} classes but {} has {}; all sources must share one set of classes", files[j],
                  other.classes.size(), files[0], first.classes.size());
    for (size_t k = 0; k < first.classes.size(); ++k)
      if (other.classes[k] != first.classes[k])
        input_error("class {} is '{}' in {} but '{}' in {}; all sources must share one set of classes in one order", k,
                    other.classes[k], files[j], first.classes[k], files[0]);
    if (other.input_size != first.input_size)
      input_error("{} takes pictures of {}x{} but {} of {}x{}; all sources must take the same size", files[j],
                  other.input_size, other.input_size, files[0], first.input_size, first.input_size);
  }
}

}  // namespace tributary

// Random pictures and sources for timing, where only sizes matter.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/preprocessing.h"
#include "tributary/base/stopwatch.h"
#include "tributary/data/image_set.h"
#include "tributary/model/ensemble.h"

namespace tributary {

// Noise of the size that `preprocessing` gives.
ImageSet random_pictures(int64_t count, const Preprocessing& preprocessing);

// Sources with random weights.
Ensemble random_sources(const std::string& architecture, int64_t count, int64_t classes);

double median(std::vector<double> values);

// Wall-clock seconds of `work`.
template <typename Work>
double seconds_of(Work work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

}  // namespace tributary

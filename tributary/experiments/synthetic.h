// Pictures and sources made for timing: their values do not matter, their sizes do.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/preprocessing.h"
#include "tributary/base/stopwatch.h"
#include "tributary/data/image_set.h"
#include "tributary/model/ensemble.h"

namespace tributary {

// DropoutStream, as a network framed so would get it.
ImageSet random_pictures(int64_t count, const Preprocessing& preprocessing);

// Sources of random weights.
Ensemble random_sources(const std::string& architecture, int64_t count, int64_t classes);

double median(std::vector<double> values);

// Seconds that `work` takes.
template <typename Work>
double seconds_of(Work work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

}  // namespace tributary

// Options of t-SNE; the defaults are scikit-learn's.
#pragma once

#include <cstdint>

namespace tributary {

struct TsneOptions {
  double perplexity = 30;  // effective number of neighbours; at most a third of the other points
  int64_t components = 0;  // principal components for distances; 0: the features themselves
  int64_t iterations = 1000;
  int64_t early = 250;  // iterations with early exaggeration and lower momentum
  double exaggeration = 12;
  double rate = 0;     // learning rate; 0: n / exaggeration / 4, at least 50
  double angle = 0.5;  // Barnes-Hut: a node counts as one point if size / distance is less than this;
                       // 0: exact, all pairs
  uint64_t seed = 0;
  int threads = 0;  // 0 or less: all; the result does not depend on it
};

}  // namespace tributary

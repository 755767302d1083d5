// What t-SNE can be told; the defaults are scikit-learn's.
#pragma once

#include <cstdint>

namespace tributary {

struct TsneOptions {
  double perplexity = 30;  // how many neighbours a point has, softly counted; at most a third of the other points
  int64_t components = 0;  // distances between that many principal components; 0: between the features themselves
  int64_t iterations = 1000;
  int64_t early = 250;  // the first of these, in which groups form: attraction exaggerated, little momentum
  double exaggeration = 12;
  double rate = 0;     // of learning; 0: n / exaggeration / 4, at least 50
  double angle = 0.5;  // a crowd is seen as one point if it looks smaller than this (its size / its distance);
                       // 0: no crowds, every pair by itself
  uint64_t seed = 0;
  int threads = 0;  // 0 or less: all; the result does not depend on it
};

}  // namespace tributary

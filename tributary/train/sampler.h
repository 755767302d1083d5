// Shuffled training batches.
#pragma once

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

// Batches per epoch. A remainder of one sample is no batch, because BatchNorm cannot be trained on it.
inline int64_t batches_per_epoch(int64_t count, int64_t batch) {
  return count / batch + (count % batch >= 2 ? 1 : 0);
}

// Draws the positions 0 .. n - 1 in shuffled order, batch by batch and epoch after epoch. An epoch ends with a partial
// batch, unless that has fewer than two samples.
class Sampler {
 public:
  // `index` is int64 [n] with n >= 2; only its length counts. Epoch e is shuffled by child e of `random`. The remainder
  // of an epoch is dropped if it has fewer than `least` samples: statistics of BatchNorm over so few say next to
  // nothing.
  Sampler(const Tensor& index, int64_t batch, Random random, int64_t least = 2);

  // Positions of the next batch, int64 [b] on the host.
  Tensor next();
  // Whether the current epoch is used up.
  bool exhausted() const { return begin_ >= count_; }
  // Starts the next epoch.
  void restart();

 private:
  int64_t count_, batch_, least_;
  Random random_;
  uint64_t epoch_ = 0;
  int64_t begin_ = 0;
  Tensor order_;
};

}  // namespace tributary

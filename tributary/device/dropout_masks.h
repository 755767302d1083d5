// All dropout masks of a training step, drawn together.
//
// A mask by itself is a chain of thirty tiny kernels, and a step of four sources has dozens of masks: on a GPU they
// would cost more than the networks. A sheet learns from one step which masks are wanted and then draws them all in one
// such chain. They are the same masks.
#pragma once

#include <vector>

#include "tributary/device/dropout_stream.h"

namespace tributary {

class DropoutMasks {
 public:
  // Learns from noises that went through their forward passes once.
  explicit DropoutMasks(const std::vector<DropoutStream>& used);

  // Noises for the same passes under new keys, int64 [noises], where the used ones were.
  std::vector<DropoutStream> draw(const Tensor& keys) const;

 private:
  struct Mask {
    std::vector<int64_t> shape;
    int64_t begin, count;  // where it lies among all numbers
    bool normal;           // normal numbers instead
  };
  std::vector<std::vector<Mask>> masks_;  // of each noise
  Tensor position_, owner_;               // int64 [draws]: place in its stream, noise it belongs to
  Tensor threshold_, kept_;               // int64 and float [2 draws]
};

}  // namespace tributary

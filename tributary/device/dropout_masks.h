// Draws all dropout masks of a training step at once.
//
// Drawing one mask takes about thirty tiny kernels, and a step with four sources has dozens of masks: on a GPU they
// would cost more than the networks. DropoutMasks learns the masks of a step from one eager run and then draws them all
// with thirty kernels. The masks are the same as those drawn one by one.
#pragma once

#include <vector>

#include "tributary/device/dropout_stream.h"

namespace tributary {

class DropoutMasks {
 public:
  // Takes the streams of one step after their forward passes.
  explicit DropoutMasks(const std::vector<DropoutStream>& used);

  // Returns streams for the same passes with new keys, int64 [streams], on the device of the used streams.
  std::vector<DropoutStream> draw(const Tensor& keys) const;

 private:
  struct Mask {
    std::vector<int64_t> shape;
    int64_t begin, count;  // range in the 2 * draws numbers of all streams
    bool normal;           // normal draws instead of a mask
  };
  std::vector<std::vector<Mask>> masks_;  // per stream
  Tensor position_;                       // int64 [draws], position in the stream, from 1 on
  Tensor owner_;                          // int64 [draws], index of the stream
  Tensor threshold_;                      // int64 [2 draws], draws below it give zero
  Tensor kept_;                           // float [2 draws], value of the other elements: 1 / (1 - drop)
};

}  // namespace tributary

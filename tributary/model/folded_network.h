// A network for evaluation alone, with fewer kernels: every BatchNorm that follows a convolution is part of its
// weights, and so are the addition and the ReLU after it where the device has a kernel for all three.
#pragma once

#include "tributary/model/network.h"

namespace tributary {

class FoldedNetwork {
 public:
  // Takes the weights and running statistics as they are now; folded weights are of `type`. `network` must outlive
  // this.
  FoldedNetwork(Network& network, torch::ScalarType type);

  // network.forward(x) in evaluation, but for rounding.
  Tensor forward(const Tensor& x) const;
  // Kernels and plain layers that a pass runs.
  size_t steps() const { return steps_.size(); }

 private:
  struct Step {
    int layer = 0;  // or the convolution that was folded
    int out = 0;    // the value that it computes
    std::optional<Conv2d> folded = {};
    bool relu = false;
    int added = -1;                    // value that is added before the ReLU; -1: none
    std::vector<int> last_reads = {};  // values that no later step reads
  };

  // Folds the layers after convolution `layer` that can be part of it.
  Step folded(int layer, const std::vector<std::vector<int>>& readers);
  void find_last_reads();

  Network& network_;
  torch::ScalarType type_;
  std::vector<Step> steps_;
};

}  // namespace tributary

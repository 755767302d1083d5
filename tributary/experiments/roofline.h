// The bound that speed is measured against: a roofline of the network on this device.
//
// Every layer must at least do its multiplications and move its values: it takes no less than the longer of the two on
// a device whose matrix product and whose copying were timed here. Each layer is taken as a kernel of its own, as
// LibTorch runs them; fused ones could do with less.
#pragma once

#include "tributary/model/network.h"

namespace tributary {

// What a device reached on the work that suits it best.
struct DevicePeak {
  double flops = 0;  // a second, of a large matrix product in the precision of the work
  double bytes = 0;  // a second, read and written by a large copy
};
DevicePeak measure_peak(torch::Device device, bool bfloat16);

// What a layer does for one picture; the backward pass is that of training.
struct LayerWork {
  double flops = 0, values = 0;  // floating-point operations, numbers moved
  double backward_flops = 0, backward_values = 0;
};
// Of every layer, for a picture of `size` x `size`. `training` counts BatchNorm's pass over the batch.
std::vector<LayerWork> work_of(const Network& network, int64_t size, bool training);

// Pictures a second that nobody can beat layer by layer: forward alone, or forward and backward.
double roofline(const std::vector<LayerWork>& work, const DevicePeak& peak, int64_t bytes_a_value, bool backward);

}  // namespace tributary

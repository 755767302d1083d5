// Roofline model: an upper bound for the speed of a network on a device.
//
// A layer takes at least the time for its arithmetic and at least the time for its memory traffic, at the measured peak
// rates of the device. Each layer is a kernel of its own, as in LibTorch; fused kernels could be faster.
#pragma once

#include "tributary/model/network.h"

namespace tributary {

// Measured peak rates of a device.
struct DevicePeak {
  double flops = 0;  // per second, of a large matrix product in the given precision
  double bytes = 0;  // per second, read and written by a large copy
};
DevicePeak measure_peak(torch::Device device, bool bfloat16);

// Cost of a layer for one picture.
struct LayerWork {
  double flops = 0, values = 0;  // floating-point operations, values read and written
  double backward_flops = 0, backward_values = 0;
};
// The cost of every layer for pictures of `size` x `size`. `training` includes the batch statistics of BatchNorm.
std::vector<LayerWork> work_of(const Network& network, int64_t size, bool training);

// Upper bound for pictures per second, for the forward pass or for forward and backward pass.
double roofline(const std::vector<LayerWork>& work, const DevicePeak& peak, int64_t bytes_per_value, bool backward);

}  // namespace tributary

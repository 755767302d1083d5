// Where the work is done.
#pragma once

#include <exception>
#include <string>

#include "tributary/base/tensor.h"

namespace tributary {

enum class DeviceChoice { kAuto, kCpu, kCuda };

// The device of that name; auto takes a GPU where there is one. Asking for one that is not there is an InputError.
torch::Device resolve_device(DeviceChoice choice);

// A small host tensor on the device. To a GPU it goes through pinned memory, so that nobody waits for the copy.
Tensor upload(const Tensor& host, torch::Device device);

// Waits until everything asked of the device is done, so that a clock can be read.
void synchronise(torch::Device device);

// Bytes that are free on a GPU; as many as anybody could want on a CPU.
int64_t free_memory(torch::Device device);

// The most bytes that tensors took on a GPU at any time; 0 on a CPU.
int64_t peak_memory(torch::Device device);

// Threads of the CPU's tensor operations; 0 takes what suits the machine. Part of a run's identity: another number
// sums in another order. Returns the number in use.
int set_threads(int threads);

// Whether an exception means that the GPU's memory is used up, as LibTorch's allocator, the driver and cuBLAS say it.
bool is_out_of_gpu_memory(const std::exception& error);
// Gives back what is cached of the GPU's memory.
void release_cached_memory(torch::Device device);

}  // namespace tributary

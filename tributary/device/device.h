// Device selection, memory queries and thread count.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "tributary/base/tensor.h"

namespace tributary {

enum class DeviceChoice { kAuto, kCpu, kCuda };

// Returns the chosen device; kAuto prefers a GPU. Throws an InputError if kCuda is chosen and no GPU is usable.
torch::Device resolve_device(DeviceChoice choice);

// Copies a small host tensor to the device. Uses pinned memory on a GPU, so that the host does not wait.
Tensor upload(const Tensor& host, torch::Device device);

// Waits until the device has finished all work, e.g. before reading a clock.
void synchronise(torch::Device device);

// Lets this process take at most `bytes` of GPU memory: 1 GiB for the CUDA context, the rest for tensors; 0 lifts the
// limit. Throws an InputError if it leaves no room. No effect on a CPU.
void limit_gpu_memory(torch::Device device, int64_t bytes);

// Bytes of GPU memory that this process may take in all: the limit, or else all that there is; the largest int64 on a
// CPU.
int64_t total_memory(torch::Device device);

// Free bytes of GPU memory within the limit; the largest int64 on a CPU.
int64_t free_memory(torch::Device device);

// Peak number of bytes that the caching allocator reserved on the GPU; 0 on a CPU.
int64_t peak_memory(torch::Device device);

// Peak number of bytes that this process took on the GPU: those of the caching allocator and 1 GiB for the CUDA
// context; 0 on a CPU.
int64_t peak_process_memory(torch::Device device);

// Counts the bytes that tensors take on a device.
struct MemoryMeter {
  std::function<int64_t()> held;  // now
  std::function<int64_t()> peak;  // at most since the last restart
  std::function<void()> restart_peak;
};
// The meter of a GPU, which must be idle.
MemoryMeter gpu_meter(torch::Device device);

// Sets the number of threads for tensor operations on the CPU; 0 chooses one for this machine. Returns the number in
// use. It is part of a run's configuration, because it affects the order of summation.
int set_threads(int threads);

// Whether an exception of LibTorch means that the machine is out of memory.
bool is_out_of_memory(const std::exception& error);
// Whether an exception of LibTorch's allocator, the driver or cuBLAS means out of GPU memory.
bool is_out_of_gpu_memory(const std::exception& error);
// Returns the allocator's cached GPU memory to the driver.
void release_cached_memory(torch::Device device);

}  // namespace tributary

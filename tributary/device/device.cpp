#include "tributary/device/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/cuda.h>

#include <algorithm>
#include <limits>
#include <string_view>

#ifdef TRIBUTARY_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

#include "tributary/base/error.h"
#include "tributary/base/threads.h"

namespace tributary {

torch::Device resolve_device(DeviceChoice choice) {
  const bool available = torch::cuda::is_available();
  if (choice == DeviceChoice::kCuda && !available)
    input_error("--device cuda: no usable GPU, or LibTorch was built without CUDA; use --device cpu");
  if (choice == DeviceChoice::kCpu || !available) return torch::Device(torch::kCPU);
  at::globalContext().setBenchmarkCuDNN(true);  // shapes rarely change, so benchmarking algorithms pays off
  return torch::Device(torch::kCUDA, 0);
}

Tensor upload(const Tensor& host, torch::Device device) {
  return device.is_cuda() ? host.pin_memory().to(device, /*non_blocking=*/true) : host;
}

void synchronise(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize();
}

bool is_out_of_memory(const std::exception& error) {
  return std::string_view(error.what()).find("can't allocate memory") != std::string_view::npos;
}

bool is_out_of_gpu_memory(const std::exception& error) {
  const std::string_view what = error.what();
  return what.find("out of memory") != std::string_view::npos || what.find("ALLOC_FAILED") != std::string_view::npos;
}

#ifdef TRIBUTARY_CUDA
void release_cached_memory(torch::Device device) {
  if (device.is_cuda()) c10::cuda::CUDACachingAllocator::emptyCache();
}

int64_t free_memory(torch::Device device) {
  if (device.is_cpu()) return std::numeric_limits<int64_t>::max();
  const c10::cuda::CUDAGuard guard(device);  // cudaMemGetInfo asks the current device
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return static_cast<int64_t>(free);
}

int64_t peak_memory(torch::Device device) {
  if (device.is_cpu()) return 0;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  return stats.reserved_bytes[0].peak;
}
#else
void release_cached_memory(torch::Device) {}

int64_t free_memory(torch::Device) {
  return std::numeric_limits<int64_t>::max();
}

int64_t peak_memory(torch::Device) {
  return 0;
}
#endif

int64_t peak_process_memory(torch::Device device) {
  constexpr int64_t kContext = int64_t{1} << 30;  // of the CUDA context and the kernels of cuDNN and cuBLAS, about
  const int64_t reserved = peak_memory(device);
  return reserved > 0 ? reserved + kContext : 0;
}

int set_threads(int threads) {
  // Torch counts physical cores only; on small machines hyper-threads help.
  constexpr int kSmall = 8;
  const int cpus = hardware_threads();
  if (threads == 0) threads = std::max(std::min(at::get_num_threads(), cpus), std::min(cpus, kSmall));
  if (threads > cpus) require_threads(threads);
  at::set_num_threads(threads);
  return at::get_num_threads();
}

}  // namespace tributary

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

constexpr int64_t kContext = int64_t{1} << 30;  // of the CUDA context and the kernels of cuDNN and cuBLAS, about

#ifdef TRIBUTARY_CUDA
namespace {

namespace cuda_allocator = c10::cuda::CUDACachingAllocator;

int64_t gpu_limit = 0;              // of this process; 0: none
int64_t earlier_reserved_peak = 0;  // of the reserved bytes, before the last restart

// Free and total bytes of the GPU.
std::pair<int64_t, int64_t> device_memory(torch::Device device) {
  const c10::cuda::CUDAGuard guard(device);  // cudaMemGetInfo asks the current device
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

}  // namespace

void release_cached_memory(torch::Device device) {
  if (device.is_cuda()) cuda_allocator::emptyCache();
}

void limit_gpu_memory(torch::Device device, int64_t bytes) {
  if (device.is_cpu() || bytes == gpu_limit) return;
  if (bytes > 0 && bytes <= kContext) input_error("--gpu-memory must be more than 1 GiB, which the CUDA context takes");
  gpu_limit = bytes;
  torch::empty({1}, device);  // the allocator must be there
  const auto total = static_cast<double>(device_memory(device).second);
  const double share = bytes > 0 ? std::min(static_cast<double>(bytes - kContext) / total, 1.0) : 1.0;
  cuda_allocator::setMemoryFraction(share, device.index());
}

int64_t total_memory(torch::Device device) {
  if (device.is_cpu()) return std::numeric_limits<int64_t>::max();
  const int64_t total = device_memory(device).second;
  return gpu_limit > 0 ? std::min(gpu_limit, total) : total;
}

int64_t free_memory(torch::Device device) {
  if (device.is_cpu()) return std::numeric_limits<int64_t>::max();
  const int64_t free = device_memory(device).first;
  if (gpu_limit == 0) return free;
  const int64_t reserved = cuda_allocator::getDeviceStats(device.index()).reserved_bytes[0].current;
  return std::clamp<int64_t>(gpu_limit - kContext - reserved, 0, free);
}

int64_t peak_memory(torch::Device device) {
  if (device.is_cpu()) return 0;
  return std::max(earlier_reserved_peak, cuda_allocator::getDeviceStats(device.index()).reserved_bytes[0].peak);
}

MemoryMeter gpu_meter(torch::Device device) {
  const auto taken = [device] { return cuda_allocator::getDeviceStats(device.index()).allocated_bytes[0]; };
  return {[taken] { return taken().current; }, [taken] { return taken().peak; },
          [device] {
            earlier_reserved_peak = peak_memory(device);
            cuda_allocator::resetPeakStats(device.index());
          }};
}
#else
void release_cached_memory(torch::Device) {}

void limit_gpu_memory(torch::Device, int64_t) {}

int64_t total_memory(torch::Device) {
  return std::numeric_limits<int64_t>::max();
}

int64_t free_memory(torch::Device) {
  return std::numeric_limits<int64_t>::max();
}

int64_t peak_memory(torch::Device) {
  return 0;
}

MemoryMeter gpu_meter(torch::Device) {
  TRIBUTARY_CHECK(false, "this build has no GPU");
}
#endif

int64_t peak_process_memory(torch::Device device) {
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

#include "tributary/model/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/cuda.h>

#include <algorithm>

#include "tributary/base/error.h"
#include "tributary/base/threads.h"

namespace tributary {

torch::Device resolve_device(DeviceChoice choice) {
  const bool available = torch::cuda::is_available();
  if (choice == DeviceChoice::kCuda && !available)
    input_error("--device cuda: no usable GPU here (or a LibTorch without CUDA); use --device cpu");
  if (choice == DeviceChoice::kCpu || !available) return torch::Device(torch::kCPU);
  at::globalContext().setBenchmarkCuDNN(true);  // shapes hardly change, so the fastest algorithms are worth a search
  return torch::Device(torch::kCUDA, 0);
}

Tensor upload(const Tensor& host, torch::Device device) {
  return device.is_cuda() ? host.pin_memory().to(device, /*non_blocking=*/true) : host;
}

void synchronise(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize();
}

int set_threads(int threads) {
  // Torch counts cores only; on small machines the second thread of a core is well worth using.
  constexpr int kSmall = 8;
  if (threads == 0) threads = std::max(at::get_num_threads(), std::min(hardware_threads(), kSmall));
  at::set_num_threads(threads);
  return at::get_num_threads();
}

}  // namespace tributary

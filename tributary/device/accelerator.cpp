#include "tributary/device/accelerator.h"

#include <ATen/Context.h>
#include <torch/version.h>

#include <atomic>
#include <cmath>

#include "tributary/base/error.h"
#include "tributary/device/device.h"

#if defined(TRIBUTARY_CUDA) && TORCH_VERSION_MAJOR >= 2
#define TRIBUTARY_GRAPHS 1
#include <ATen/autocast_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/cuda.h>
#endif

namespace tributary {

#ifdef TRIBUTARY_GRAPHS

MixedPrecision::MixedPrecision(bool enabled, torch::Device device) : enabled_(enabled && device.is_cuda()) {
  if (!enabled_) return;
  at::autocast::set_autocast_enabled(at::kCUDA, true);
  at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  at::autocast::increment_nesting();
}

MixedPrecision::~MixedPrecision() {
  if (!enabled_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCUDA, false);
}

bool MixedPrecision::active(torch::Device device) {
  return device.is_cuda() && at::autocast::is_autocast_enabled(at::kCUDA);
}

void MixedPrecision::forget_weights() {
  at::autocast::clear_cache();
}

struct OwnStream::Guard {
  c10::cuda::CUDAStreamGuard stream;
};

OwnStream::OwnStream(torch::Device device) {
  if (!device.is_cuda()) return;
  static const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  torch::cuda::synchronize();
  guard_.reset(new Guard{c10::cuda::CUDAStreamGuard(stream)});
}

OwnStream::~OwnStream() {
  if (!guard_) return;
  try {
    torch::cuda::synchronize();
  } catch (const std::exception&) {  // the device has failed; the next call to it reports that
  }
}

struct Branches::Streams {
  std::vector<c10::cuda::CUDAStream> side;
  std::vector<bool> busy;
};

Branches::Branches(int64_t count, torch::Device device) {
  if (!device.is_cuda() || count < 2) return;
  streams_ = std::make_unique<Streams>();
  for (int64_t i = 0; i < count; ++i) streams_->side.push_back(c10::cuda::getStreamFromPool());
  streams_->busy.resize(streams_->side.size(), false);
}

void Branches::run(int64_t branch, const std::function<void()>& work) {
  if (!streams_) return work();
  const auto index = static_cast<size_t>(branch);
  at::cuda::CUDAEvent before;
  before.record();
  before.block(streams_->side[index]);
  const c10::cuda::CUDAStreamGuard guard(streams_->side[index]);
  work();
  streams_->busy[index] = true;
}

void Branches::join() {
  if (!streams_) return;
  for (size_t i = 0; i < streams_->side.size(); ++i) {
    if (!streams_->busy[i]) continue;
    at::cuda::CUDAEvent done;
    done.record(streams_->side[i]);
    done.block(c10::cuda::getCurrentCUDAStream());
    streams_->busy[i] = false;
  }
}

// Graphs are replayed one after the other, so all graphs that live at the same time can share a memory pool.
std::shared_ptr<const at::cuda::MempoolId_t> shared_pool() {
  static std::weak_ptr<const at::cuda::MempoolId_t> current;
  std::shared_ptr<const at::cuda::MempoolId_t> pool = current.lock();
  if (!pool) current = pool = std::make_shared<const at::cuda::MempoolId_t>(at::cuda::graph_pool_handle());
  return pool;
}

struct CudaGraph::Graph {
  std::shared_ptr<const at::cuda::MempoolId_t> pool = shared_pool();
  at::cuda::CUDAGraph graph;
};

// Ends a capture whose work threw, so that the stream stays usable. capture_end() reports the failed capture, which the
// caller already knows.
void abort_capture(at::cuda::CUDAGraph& graph) {
  try {
    graph.capture_end();
  } catch (const std::exception&) {
  }
}

bool CudaGraph::possible(torch::Device device) {
  return device.is_cuda();
}

void CudaGraph::capture(const std::function<void()>& work) {
  auto graph = std::make_unique<Graph>();
  torch::cuda::synchronize();
  graph->graph.capture_begin(*graph->pool);
  try {
    work();
  } catch (...) {
    abort_capture(graph->graph);
    throw;
  }
  graph->graph.capture_end();
  graph_ = std::move(graph);
}

void CudaGraph::replay() {
  graph_->graph.replay();
}

#else

MixedPrecision::MixedPrecision(bool, torch::Device) : enabled_(false) {}
MixedPrecision::~MixedPrecision() = default;
bool MixedPrecision::active(torch::Device) {
  return false;
}
void MixedPrecision::forget_weights() {}

struct OwnStream::Guard {};
OwnStream::OwnStream(torch::Device) {}
OwnStream::~OwnStream() = default;

struct Branches::Streams {};
Branches::Branches(int64_t, torch::Device) {}
void Branches::run(int64_t, const std::function<void()>& work) {
  work();
}
void Branches::join() {}

struct CudaGraph::Graph {};
bool CudaGraph::possible(torch::Device) {
  return false;
}
void CudaGraph::capture(const std::function<void()>&) {
  TRIBUTARY_CHECK(false, "this build has no CUDA graphs");
}
void CudaGraph::replay() {}

#endif

NoAlgorithmSearch::NoAlgorithmSearch(bool enabled) : before_(at::globalContext().benchmarkCuDNN()) {
  if (enabled) at::globalContext().setBenchmarkCuDNN(false);
}

NoAlgorithmSearch::~NoAlgorithmSearch() {
  at::globalContext().setBenchmarkCuDNN(before_);
}

RepeatableConvolutions::RepeatableConvolutions(bool enabled)
    : heuristic_(enabled), before_(at::globalContext().deterministicCuDNN()) {
  if (enabled) at::globalContext().setDeterministicCuDNN(true);
}

RepeatableConvolutions::~RepeatableConvolutions() {
  at::globalContext().setDeterministicCuDNN(before_);
}

Branches::~Branches() = default;

CudaGraph::CudaGraph() = default;
CudaGraph::~CudaGraph() = default;
CudaGraph::CudaGraph(CudaGraph&&) noexcept = default;
CudaGraph& CudaGraph::operator=(CudaGraph&&) noexcept = default;

bool CudaGraph::captured() const {
  return graph_ != nullptr;
}

Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value) {
#if TORCH_VERSION_MAJOR >= 2
  return at::scaled_dot_product_attention(query, key, value);
#else
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  return (query * scale).matmul(key.transpose(-2, -1)).softmax(-1).matmul(value);
#endif
}

Tensor conv_relu(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& added,
                 const ConvWindow& window) {
  const std::vector<int64_t> stride(2, window.stride), padding(2, window.padding), dilation(2, 1);
#ifdef TRIBUTARY_GRAPHS
  static std::atomic<bool> fused = true;  // until cuDNN refuses once
  if (x.is_cuda() && fused) {
    try {
      if (!added.defined())
        return at::cudnn_convolution_relu(x, weight, bias, stride, padding, dilation, window.groups);
      return at::cudnn_convolution_add_relu(x, weight, added.to(x.scalar_type()), /*alpha=*/1.0, bias, stride, padding,
                                            dilation, window.groups);
    } catch (const std::exception& error) {
      if (is_out_of_gpu_memory(error)) throw;
      fused = false;
    }
  }
#endif
  Tensor y = at::conv2d(x, weight, bias, stride, padding, dilation, window.groups);
  if (added.defined()) y.add_(added);
  return y.relu_();
}

void scale_all(std::vector<Tensor>& tensors, const Tensor& factor) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
  at::_foreach_mul_(tensors, factor);
#else
  for (Tensor& tensor : tensors) tensor.mul_(factor);
#endif
}

void sgd_direction(const std::vector<Tensor>& values, std::vector<Tensor>& gradients, std::vector<Tensor>& velocity,
                   double momentum, double weight_decay, bool nesterov) {
  at::_foreach_add_(gradients, values, weight_decay);
  if (momentum <= 0) return;
  at::_foreach_mul_(velocity, momentum);
  at::_foreach_add_(velocity, gradients, 1);
  if (nesterov)
    at::_foreach_add_(gradients, velocity, momentum);
  else
    gradients = velocity;
}

void sgd_step(std::vector<Tensor>& values, std::vector<Tensor>& gradients, std::vector<Tensor>& velocity,
              const Tensor& rate, double momentum, double weight_decay, bool nesterov) {
#ifdef TRIBUTARY_GRAPHS
  if (momentum > 0) {
    // The fused kernel requires gradients with the strides of their parameters; those from autograd::grad may differ.
    for (size_t i = 0; i < values.size(); ++i)
      if (gradients[i].strides() != values[i].strides())
        gradients[i] = torch::empty_like(values[i]).copy_(gradients[i]);
    at::_fused_sgd_(values, gradients, velocity, weight_decay, momentum, rate, /*dampening=*/0, nesterov,
                    /*maximize=*/false, /*is_first_step=*/false);
    return;
  }
#endif
  sgd_direction(values, gradients, velocity, momentum, weight_decay, nesterov);
  for (size_t i = 0; i < values.size(); ++i) values[i].sub_(gradients[i] * rate);
}

}  // namespace tributary

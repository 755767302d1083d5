#include "tributary/device/accelerator.h"

#include <ATen/Context.h>
#include <torch/version.h>

#include "tributary/base/error.h"

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
  } catch (const std::exception&) {  // the device has failed, of which the next call to it will speak
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
  const auto place = static_cast<size_t>(branch);
  at::cuda::CUDAEvent before;
  before.record();
  before.block(streams_->side[place]);
  const c10::cuda::CUDAStreamGuard guard(streams_->side[place]);
  work();
  streams_->busy[place] = true;
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

// All recordings are repeated one after the other, so that those that live at a time can share their memory.
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

// Leaves the stream usable after work that did not come to its end; that it did not is no news.
void end_broken(at::cuda::CUDAGraph& graph) {
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
    end_broken(graph->graph);
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
  TRIBUTARY_CHECK(false, "nothing can be recorded here");
}
void CudaGraph::replay() {}

#endif

NoAlgorithmSearch::NoAlgorithmSearch(bool enabled) : before_(at::globalContext().benchmarkCuDNN()) {
  if (enabled) at::globalContext().setBenchmarkCuDNN(false);
}

NoAlgorithmSearch::~NoAlgorithmSearch() {
  at::globalContext().setBenchmarkCuDNN(before_);
}

Branches::~Branches() = default;

CudaGraph::CudaGraph() = default;
CudaGraph::~CudaGraph() = default;
CudaGraph::CudaGraph(CudaGraph&&) noexcept = default;
CudaGraph& CudaGraph::operator=(CudaGraph&&) noexcept = default;

bool CudaGraph::captured() const {
  return graph_ != nullptr;
}

void sgd_direction(const std::vector<Tensor>& values, std::vector<Tensor>& slopes, std::vector<Tensor>& velocity,
                   double momentum, double weight_decay, bool nesterov) {
  at::_foreach_add_(slopes, values, weight_decay);
  if (momentum <= 0) return;
  at::_foreach_mul_(velocity, momentum);
  at::_foreach_add_(velocity, slopes, 1);
  if (nesterov)
    at::_foreach_add_(slopes, velocity, momentum);
  else
    slopes = velocity;
}

void sgd_step(std::vector<Tensor>& values, std::vector<Tensor>& slopes, std::vector<Tensor>& velocity,
              const Tensor& rate, double momentum, double weight_decay, bool nesterov) {
#ifdef TRIBUTARY_GRAPHS
  if (momentum > 0) {
    // The fused step wants everything laid out alike, which gradients that were asked for by name need not be.
    for (size_t i = 0; i < values.size(); ++i)
      if (slopes[i].strides() != values[i].strides()) slopes[i] = torch::empty_like(values[i]).copy_(slopes[i]);
    at::_fused_sgd_(values, slopes, velocity, weight_decay, momentum, rate, /*dampening=*/0, nesterov,
                    /*maximize=*/false, /*is_first_step=*/false);
    return;
  }
#endif
  sgd_direction(values, slopes, velocity, momentum, weight_decay, nesterov);
  for (size_t i = 0; i < values.size(); ++i) values[i].sub_(slopes[i] * rate);
}

}  // namespace tributary

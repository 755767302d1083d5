// What makes a GPU fast: mixed precision, and work that is recorded once and repeated.
//
// The one place for calls that exist only with CUDA or only in newer LibTorch. On a CPU everything here does nothing,
// or the plain thing.
#pragma once

#include <functional>
#include <memory>

#include "tributary/base/tensor.h"

namespace tributary {

// While it lives, convolutions and matrix products run in bfloat16 on weights that stay float32. Weights are converted
// once while it lives. Does nothing on a CPU.
class MixedPrecision {
 public:
  MixedPrecision(bool enabled, torch::Device device);
  ~MixedPrecision();  // NOLINT(performance-trivially-destructible): on a GPU it has work to do
  MixedPrecision(const MixedPrecision&) = delete;
  MixedPrecision& operator=(const MixedPrecision&) = delete;

  // Whether one lives for work on the device now.
  static bool active(torch::Device device);

 private:
  [[maybe_unused]] bool enabled_;  // of use on a GPU
};

// While it lives, convolutions of shapes that were not seen before take an algorithm by rule of thumb. Otherwise all
// are tried, which takes a large network seconds and pays only if the shape comes again and again.
class NoAlgorithmSearch {
 public:
  explicit NoAlgorithmSearch(bool enabled);
  ~NoAlgorithmSearch();
  NoAlgorithmSearch(const NoAlgorithmSearch&) = delete;
  NoAlgorithmSearch& operator=(const NoAlgorithmSearch&) = delete;

 private:
  bool before_;
};

// While it lives, work goes to a stream of its own, from which it can be recorded. Waits at both ends.
class OwnStream {
 public:
  explicit OwnStream(torch::Device device);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

 private:
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

// Pieces of work that do not need each other, side by side: small kernels of one fill the gaps of the others. Can be
// recorded. On a CPU they are done one after the other.
class Branches {
 public:
  Branches(int64_t count, torch::Device device);
  ~Branches();
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  // Calls `work`, whose work for the device follows all that was asked for before and runs beside what other branches
  // do. Tensors that it takes or makes must live until `join`.
  void run(int64_t branch, const std::function<void()>& work);
  // What is asked for from here on follows all branches.
  void join();

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
};

// Work on a GPU that is recorded once and repeated at the cost of one launch. It reads and writes the same memory every
// time, so what changes from one time to the next must lie in tensors that are there before. What it makes is good
// until other recorded work is done.
class CudaGraph {
 public:
  CudaGraph();
  ~CudaGraph();
  CudaGraph(CudaGraph&&) noexcept;
  CudaGraph& operator=(CudaGraph&&) noexcept;

  // Whether work on the device can be recorded.
  static bool possible(torch::Device device);
  // Records what `work` asks of the device, without doing it. Must be called within an OwnStream, after the same work
  // was done a few times.
  void capture(const std::function<void()>& work);
  bool captured() const;
  void replay();

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

// Turns gradients into the direction of torch.optim.SGD's step, in place: weight decay, momentum, Nesterov.
void sgd_direction(const std::vector<Tensor>& values, std::vector<Tensor>& slopes, std::vector<Tensor>& velocity,
                   double momentum, double weight_decay, bool nesterov);
// The whole step with a learning rate that lies on the device, float []: few launches for many tensors where LibTorch
// has it.
void sgd_step(std::vector<Tensor>& values, std::vector<Tensor>& slopes, std::vector<Tensor>& velocity,
              const Tensor& rate, double momentum, double weight_decay, bool nesterov);

}  // namespace tributary

// GPU acceleration: mixed precision, streams, CUDA graphs, fused attention and optimiser steps.
//
// All calls that need CUDA or a recent LibTorch are in this file's implementation. On a CPU, everything here is a no-op
// or falls back to the plain operation.
#pragma once

#include <functional>
#include <memory>

#include "tributary/base/tensor.h"

namespace tributary {

// RAII guard: convolutions and matrix products run in bfloat16, weights stay float32 (autocast). The bfloat16 copies of
// the weights are cached while the guard lives. No-op on a CPU.
class MixedPrecision {
 public:
  MixedPrecision(bool enabled, torch::Device device);
  ~MixedPrecision();  // NOLINT(performance-trivially-destructible): not trivial in CUDA builds
  MixedPrecision(const MixedPrecision&) = delete;
  MixedPrecision& operator=(const MixedPrecision&) = delete;

  // Whether a guard is active for `device`.
  static bool active(torch::Device device);
  // Drops the cached copies of weights. Those made without gradients must not serve a pass with gradients.
  static void forget_weights();

 private:
  [[maybe_unused]] bool enabled_;  // used in CUDA builds only
};

// RAII guard: cuDNN picks convolution algorithms for new shapes by heuristic instead of benchmarking them all.
// Benchmarking takes seconds for a large network and only pays off if a shape occurs many times.
class NoAlgorithmSearch {
 public:
  explicit NoAlgorithmSearch(bool enabled);
  ~NoAlgorithmSearch();
  NoAlgorithmSearch(const NoAlgorithmSearch&) = delete;
  NoAlgorithmSearch& operator=(const NoAlgorithmSearch&) = delete;

 private:
  bool before_;
};

// RAII guard: convolutions use algorithms of cuDNN whose results repeat bit for bit, chosen by heuristic. No effect on
// a CPU, where they always repeat.
class RepeatableConvolutions {
 public:
  explicit RepeatableConvolutions(bool enabled);
  ~RepeatableConvolutions();
  RepeatableConvolutions(const RepeatableConvolutions&) = delete;
  RepeatableConvolutions& operator=(const RepeatableConvolutions&) = delete;

 private:
  NoAlgorithmSearch heuristic_;  // the fastest algorithm found by timing differs from run to run
  bool before_;
};

// RAII guard: makes a side stream current, because CUDA graphs cannot be captured on the default stream. Synchronises
// the device on construction and destruction.
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

// Runs independent work on parallel CUDA streams, so that small kernels overlap. Can be captured in a CUDA graph. On a
// CPU the branches run one after the other.
class Branches {
 public:
  Branches(int64_t count, torch::Device device);
  ~Branches();
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  // Calls `work` with the stream of `branch` current. Its kernels run after everything launched on the current stream
  // so far, and concurrently with other branches. Tensors that `work` reads or creates must live until `join`.
  void run(int64_t branch, const std::function<void()>& work);
  // Makes the current stream wait for all branches.
  void join();

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
};

// A CUDA graph: GPU work that is captured once and replayed with a single launch. Every replay reads and writes the
// same memory, so inputs that change must be copied into tensors allocated before the capture. All graphs share one
// memory pool: the outputs of a replay are valid until another graph is replayed.
class CudaGraph {
 public:
  CudaGraph();
  ~CudaGraph();
  CudaGraph(CudaGraph&&) noexcept;
  CudaGraph& operator=(CudaGraph&&) noexcept;

  // Whether work on `device` can be captured.
  static bool possible(torch::Device device);
  // Captures the kernels that `work` launches, without executing them. Must be called within an OwnStream, after a few
  // eager warm-up runs of the same work.
  void capture(const std::function<void()>& work);
  bool captured() const;
  void replay();

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

// Softmax attention of values over keys, [n, heads, count, channels / heads] each. Uses LibTorch's fused kernel if
// available.
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value);

struct ConvWindow {
  int64_t stride, padding, groups;
};
// relu(conv(x) + bias + added), with `added` of the output's shape or undefined. One kernel where cuDNN has it.
Tensor conv_relu(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& added,
                 const ConvWindow& window);

// Multiplies every tensor by `factor`, float [] on their device, in as few kernels as possible.
void scale_all(std::vector<Tensor>& tensors, const Tensor& factor);

// Turns gradients into the update direction of torch.optim.SGD, in place: weight decay, momentum, Nesterov.
void sgd_direction(const std::vector<Tensor>& values, std::vector<Tensor>& gradients, std::vector<Tensor>& velocity,
                   double momentum, double weight_decay, bool nesterov);
// A whole SGD step with a learning rate that lives on the device, float []. Uses LibTorch's fused kernel if available.
void sgd_step(std::vector<Tensor>& values, std::vector<Tensor>& gradients, std::vector<Tensor>& velocity,
              const Tensor& rate, double momentum, double weight_decay, bool nesterov);

}  // namespace tributary

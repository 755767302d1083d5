// Restores settings of LibTorch that a run changes, since the calling program uses the same LibTorch: the number of
// threads, the search for cuDNN's algorithms, and the state of the CPU's random generator (TorchScript sources draw
// from it).
#pragma once

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace tributary {

class TorchScope {
 public:
  TorchScope()
      : threads_(at::get_num_threads()),
        searches_(at::globalContext().benchmarkCuDNN()),
        generator_(at::globalContext().defaultGenerator(at::kCPU).get_state()) {}
  ~TorchScope() {
    at::set_num_threads(threads_);
    at::globalContext().setBenchmarkCuDNN(searches_);
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    generator.set_state(generator_);
  }
  TorchScope(const TorchScope&) = delete;
  TorchScope& operator=(const TorchScope&) = delete;

 private:
  int threads_;
  bool searches_;
  at::Tensor generator_;
};

}  // namespace tributary

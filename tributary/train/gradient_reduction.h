// Sums gradients over ranks. Where ranks share a pass by rows, each has the gradient of its own rows, and the optimiser
// needs the sum.
//
// All gradients of a group are reduced as one vector, asynchronously.
#pragma once

#include <memory>
#include <vector>

#include "tributary/comm/communicator.h"

namespace tributary {

class GradientReduction {
 public:
  // Null: nothing to sum.
  void reduce_over(Communicator* comm) { comm_ = comm; }

  // Starts the reduction of the gradients of `parameters`, which must be complete and must not change until `finish`.
  // Does nothing if it was started.
  void begin(const std::vector<Tensor>& parameters);
  // The sums, one per parameter; undefined without a gradient.
  std::vector<Tensor> finish(const std::vector<Tensor>& parameters);
  void forget();

 private:
  Communicator* comm_ = nullptr;
  std::vector<Tensor> sums_;  // views of one vector, laid out as the gradients are
  std::unique_ptr<Communicator::Pending> pending_;
};

}  // namespace tributary

// The gradients of parameters whose passes several ranks share by rows: each rank has those of its own rows, and what
// the optimiser wants is their sum.
//
// All gradients of a group go over the wire as one vector, and while they do the ranks go on with other work.
#pragma once

#include <memory>
#include <vector>

#include "tributary/comm/communicator.h"

namespace tributary {

class GradientReduction {
 public:
  // Null: the gradients are whole as they are.
  void reduce_over(Communicator* comm) { comm_ = comm; }

  // The gradients of `parameters` are complete, and are not touched until `finish`. Does nothing if it did.
  void begin(const std::vector<Tensor>& parameters);
  // The sums, one a parameter; undefined where there is no gradient.
  std::vector<Tensor> finish(const std::vector<Tensor>& parameters);
  void forget();

 private:
  Communicator* comm_ = nullptr;
  std::vector<Tensor> sums_;  // views of one vector, laid out as the gradients are
  std::unique_ptr<Communicator::Pending> pending_;
};

}  // namespace tributary

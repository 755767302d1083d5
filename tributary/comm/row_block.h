// The rows of the target set that one rank keeps.
//
// Tensors with a row per picture, such as logits and scores, need not be whole on every rank: each keeps one contiguous
// block of rows, and only sums and single columns cross. A default RowBlock stands for one process that keeps all rows;
// its operations then leave tensors as they are.
#pragma once

#include "tributary/comm/communicator.h"

namespace tributary {

class RowBlock {
 public:
  RowBlock() = default;
  // This rank's block of `total` rows (shard_of). Rows are not divided if `comm` is null or has one rank.
  RowBlock(Communicator* comm, int64_t total);

  bool divided() const { return comm_ != nullptr; }
  // Null if rows are not divided.
  Communicator* comm() const { return comm_; }
  // The number of rows of all ranks, where this rank keeps `own`.
  int64_t total(int64_t own) const { return divided() ? total_ : own; }
  // The own rows, where the set has `total`.
  Shard shard(int64_t total) const { return divided() ? own_ : Shard{0, total}; }
  // The number in the whole set of this rank's first row.
  int64_t begin() const { return own_.begin; }

  // The sum of a tensor over all ranks, equal on all. Floating-point numbers are added in float64.
  Tensor sum(const Tensor& of_own) const;
  int64_t sum(int64_t of_own) const;
  // The mean over dimension 0 of all ranks' rows.
  Tensor mean(const Tensor& rows) const;
  // All ranks' rows in the order of the set, where `own` has the own ones in dimension `dim`: whole on every rank.
  Tensor gather(const Tensor& own, int64_t dim = 0) const;
  // The own rows of a tensor with all rows in dimension `dim`.
  Tensor own(const Tensor& whole, int64_t dim = 0) const;
  // The rows at `index`, int64 [s] in the whole set and equal on all ranks, of a tensor [own rows, ...]: on every rank.
  // Waits for no device, so that it can be captured in a CUDA graph.
  Tensor select(const Tensor& own, const Tensor& index) const;

 private:
  Communicator* comm_ = nullptr;
  int64_t total_ = 0;
  Shard own_;
};

}  // namespace tributary

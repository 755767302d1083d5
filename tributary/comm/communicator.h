// Collective communication between the ranks of a distributed run.
//
// Every rank calls the same operations in the same order, on tensors of the same shapes and dtypes. Operations block
// until the result is ready (on a GPU: until it is used) and return the same bits on every rank. Anything computed from
// such results alone is therefore equal on all ranks and needs no further synchronisation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int64_t rank() const = 0;  // 0 .. size() - 1
  virtual int64_t size() const = 0;

  // Sums a contiguous tensor over all ranks, in place.
  virtual void all_reduce(Tensor& tensor) = 0;
  // Starts an all_reduce that is complete when wait() returns. The tensor must not be used until then.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };
  virtual std::unique_ptr<Pending> all_reduce_async(Tensor tensor) = 0;
  // Copies a contiguous tensor from rank `owner` to all others, in place.
  virtual void broadcast(Tensor& tensor, int64_t owner) = 0;
  // Stacks the contiguous tensors of all ranks in rank order: [size(), ...].
  virtual Tensor all_gather(const Tensor& own) = 0;

  bool first() const { return rank() == 0; }
  // Returns when all ranks have called it.
  void barrier();
};

// A one-dimensional view of a dense tensor's memory, in memory order; undefined if the tensor has gaps.
Tensor flat_view(const Tensor& tensor);

// The rows [begin, end) of one rank. Shards are contiguous, in rank order, and their sizes differ by at most one.
struct Shard {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};
Shard shard_of(int64_t count, int64_t rank, int64_t size);
inline Shard shard_of(int64_t count, const Communicator& comm) {
  return shard_of(count, comm.rank(), comm.size());
}

// Concatenates the shards of all ranks: [total, ...]. `own` holds the rows shard_of(total, comm) of this rank.
Tensor gather_rows(Communicator& comm, const Tensor& own, int64_t total);

}  // namespace tributary

// Several processes that do one piece of work together, as one of them sees the others.
//
// Every rank calls the same operations in the same order, on tensors of the same shapes and types; all of them block
// until the result is there (on a GPU: until it is asked for), and give the same bits to every rank. What is computed
// from such results alone is therefore equal everywhere, and needs no agreement of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int64_t rank() const = 0;  // of this process, 0 .. size() - 1
  virtual int64_t size() const = 0;

  // The sum over all ranks, in place. The tensor is contiguous.
  virtual void all_reduce(Tensor& tensor) = 0;
  // The same, begun here and there when `wait` returns; meanwhile nobody touches the tensor.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };
  virtual std::unique_ptr<Pending> all_reduce_async(Tensor tensor) = 0;
  // What `owner` has, in place. The tensor is contiguous.
  virtual void broadcast(Tensor& tensor, int64_t owner) = 0;
  // [size(), ...]: the contiguous tensors of all ranks, in their order.
  virtual Tensor all_gather(const Tensor& own) = 0;

  bool first() const { return rank() == 0; }
  // Returns when every rank has come here.
  void barrier();
};

// The memory of a tensor whose values lie without gaps, as a vector; undefined where they do not.
Tensor flat_view(const Tensor& tensor);

// Rows begin .. end of `count` that belong to rank `rank` of `size`: blocks in the order of the ranks whose lengths
// differ by one at most.
struct Shard {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};
Shard shard_of(int64_t count, int64_t rank, int64_t size);
inline Shard shard_of(int64_t count, const Communicator& comm) {
  return shard_of(count, comm.rank(), comm.size());
}

// Rows of all ranks' shares of `total`, one behind the other: [total, ...]. `own` are those of this rank's share.
Tensor gather_rows(Communicator& comm, const Tensor& own, int64_t total);

}  // namespace tributary
